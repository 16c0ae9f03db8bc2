"""What a stream as a whole says: lists and creations, gaps, new epochs, doubled and late lines, several files."""

from __future__ import annotations

import json
import random

import pytest

from arcfsm.domain.instant import HOUR, MILLISECOND, MINUTE, SECOND
from tests.unit.cluster.objects import NOON, Cluster
from tests.unit.importing.workshop import bring_in, event, write


class Recorder:
    """Writes what a recorder beside a cluster would write."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.lines: list = []
        self.at = NOON
        self.objects: dict[str, object] = {}

    def tick(self, span=SECOND):
        self.at += span
        self.cluster.now += span

    def say(self, change, obj, after=10 * MILLISECOND):
        self.tick(after)
        self.lines.append(event(change, obj, self.at))
        uid = obj["metadata"]["uid"]
        if change == "DELETED":
            self.objects.pop(uid, None)
        else:
            self.objects[uid] = obj
        return obj

    def list_anew(self):
        """List everything that is there, each kind by itself, as a recorder does that starts again."""
        self.tick(3 * SECOND)
        for obj in sorted(self.objects.values(), key=lambda one: (one["kind"], one["metadata"]["name"])):
            self.tick(MILLISECOND)
            self.lines.append(event("ADDED", obj, self.at))

    def scene(self, runners=3):
        self.say("ADDED", self.cluster.scale_set())
        self.tick()
        runner_set = self.say("ADDED", self.cluster.runner_set(replicas=runners, patch_id=1))
        found = [self.say("ADDED", self.cluster.runner(f"r{index}")) for index in range(runners)]
        for runner in found:
            self.say("ADDED", self.cluster.pod(runner))
        self.tick()
        return runner_set, found


@pytest.fixture
def recorder():
    return Recorder()


def test_creations_in_a_row_are_no_list(recorder, tmp_path):
    recorder.scene(runners=20)
    found = bring_in(write(tmp_path / "w", recorder.lines))
    assert found.told.count("RunnerCreated") == 20
    assert found.told.count("RunnerPodCreated") == 20
    assert not found.of("GapDetected")


def test_the_first_lines_are_a_list_and_one_turn(recorder, tmp_path):
    recorder.scene()
    before = len(recorder.lines)
    recorder.lines.clear()
    recorder.list_anew()
    found = bring_in(write(tmp_path / "w", recorder.lines))
    assert len(found.facts) == before
    assert not [name for name in found.told if name.endswith("Created")]
    assert len({one.turn for one in found.facts}) == 1
    assert not found.of("GapDetected")


def test_a_second_list_is_a_gap_and_what_it_does_not_hold_is_gone(recorder, tmp_path):
    _, runners = recorder.scene()
    blind_since = recorder.lines[-1]
    lost = runners[1]["metadata"]["uid"]
    for uid in (lost, f"Pod-{runners[1]['metadata']['name']}"):
        del recorder.objects[uid]
    recorder.tick()
    new = recorder.cluster.runner("r9")
    recorder.objects[new["metadata"]["uid"]] = new
    recorder.list_anew()
    found = bring_in(write(tmp_path / "w", recorder.lines))
    (gap,) = found.of("GapDetected")
    assert gap.event.since == NOON + (recorder_time(blind_since) - NOON)
    assert "EphemeralRunner" in gap.event.scope
    gone = found.of("RunnerGone", "RunnerPodGone")
    assert {one.stream.uid for one in gone} == {lost}
    assert {one.cause for one in gone} == {gap.seq}, "seen late: their cause is the gap"
    assert found.told.count("RunnerObserved") == 1
    assert "r9" in {one.event.name for one in found.of("RunnerObserved")}


def recorder_time(line):
    from arcfsm.domain.instant import parse_instant

    return parse_instant(line["received"])


def test_nothing_is_concluded_about_kinds_that_were_not_listed(recorder, tmp_path):
    recorder.scene()
    keep = {uid: obj for uid, obj in recorder.objects.items() if obj["kind"] != "Pod"}
    recorder.objects = keep
    recorder.list_anew()
    found = bring_in(write(tmp_path / "w", recorder.lines))
    assert not found.of("RunnerPodGone")
    gaps = [one.event for one in found.of("GapDetected")]
    assert [(one.scope, one.until is None) for one in gaps][-1] == ("Pod", True), "but that they are silent is said"


def test_a_list_may_be_interleaved_with_other_watches(recorder, tmp_path):
    runner_set, _ = recorder.scene(runners=6)
    start = len(recorder.lines)
    recorder.list_anew()
    listed = recorder.lines[start:]
    change = recorder.cluster.write(runner_set, spec={**runner_set["spec"], "replicas": 9, "patchID": 2})
    listed.insert(len(listed) // 2, event("MODIFIED", change, recorder.at))
    found = bring_in(write(tmp_path / "w", [*recorder.lines[:start], *listed]))
    assert len(found.of("GapDetected")) == 1
    assert not [name for name in found.told if name.endswith("Gone")]
    assert found.told.count("RunnerSetScaled") == 1


@pytest.mark.parametrize("timed", [True, False])
def test_a_doubled_line_is_no_list(recorder, tmp_path, timed):
    recorder.scene()
    lines = recorder.lines if timed else [{k: v for k, v in one.items() if k != "received"} for one in recorder.lines]
    once = bring_in(write(tmp_path / "once", lines))
    twice = bring_in(write(tmp_path / "twice", [line for one in lines for line in (one, one)]))
    later = bring_in(write(tmp_path / "later", [*lines, lines[3]]))
    assert once.told == twice.told == later.told
    assert twice.tally.noise["known already"] == len(lines)
    assert not twice.of("GapDetected")
    assert not later.of("GapDetected")


def test_late_lines_are_dropped_and_counted(recorder, tmp_path):
    runner_set, _ = recorder.scene()
    for replicas in (5, 7):
        spec = {**runner_set["spec"], "replicas": replicas, "patchID": replicas}
        recorder.say("MODIFIED", recorder.cluster.write(runner_set, spec=spec))
    lines = recorder.lines
    found = bring_in(write(tmp_path / "w", [*lines[:-2], lines[-1], lines[-2]]))
    assert found.world.runner_sets["EphemeralRunnerSet-demo"].replicas == 7
    assert found.tally.noise["older than what is known"] == 1


def test_any_order_of_lines_ends_in_the_same_state(recorder, tmp_path):
    recorder.scene()
    straight = bring_in(write(tmp_path / "straight", recorder.lines))
    for seed in range(5):
        lines = list(recorder.lines)
        random.Random(seed).shuffle(lines)
        shuffled = bring_in(write(tmp_path / "shuffled", lines))
        assert set(shuffled.world.runners) == set(straight.world.runners)
        assert {one.pod.uid for one in shuffled.world.runners.values()} == {
            one.pod.uid for one in straight.world.runners.values()
        }


GONE_410 = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}}


def test_an_expired_watch_is_a_gap_that_the_next_list_closes(recorder, tmp_path):
    _, runners = recorder.scene()
    last = recorder.at
    recorder.tick(-SECOND)
    recorder.lines.append({**GONE_410, "received": "2026-12-01T12:10:00Z"})
    del recorder.objects[runners[0]["metadata"]["uid"]]
    recorder.at = NOON + 10 * MINUTE
    recorder.list_anew()
    found = bring_in(write(tmp_path / "w", recorder.lines))
    (gap,) = [one.event for one in found.of("GapDetected")]
    assert gap.reason == "the watch ended: 410 Expired"
    assert gap.since == last - SECOND
    assert gap.until == NOON + 10 * MINUTE + 3 * SECOND + MILLISECOND
    assert found.told.count("RunnerGone") == 1


def test_an_expired_watch_that_nobody_resumed_stays_open(recorder, tmp_path):
    recorder.scene()
    found = bring_in(write(tmp_path / "w", [*recorder.lines, GONE_410]))
    (gap,) = [one.event for one in found.of("GapDetected")]
    assert gap.until is None


def test_bookmarks_advance_the_resume_point_and_leave_no_trace(recorder, tmp_path):
    recorder.scene()
    without = bring_in(write(tmp_path / "a", recorder.lines))
    mark = {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": "9000"}}
    found = bring_in(write(tmp_path / "b", [*recorder.lines, event("BOOKMARK", mark, recorder.at)]))
    assert found.told == without.told
    assert without.resume["pods"] != "9000"
    assert found.resume["pods"] == "9000"
    assert found.tally.bookmarks == 1


def test_versions_that_went_back_are_a_new_epoch(recorder, tmp_path):
    runner_set, runners = recorder.scene()
    recorder.cluster.version = 10
    for uid, obj in list(recorder.objects.items()):
        recorder.objects[uid] = recorder.cluster.write(obj)
    lost = runners[2]["metadata"]["uid"]
    del recorder.objects[lost]
    recorder.list_anew()
    spec = {**runner_set["spec"], "replicas": 8, "patchID": 2}
    recorder.say("MODIFIED", recorder.cluster.write(runner_set, spec=spec), after=SECOND)
    found = bring_in(write(tmp_path / "w", recorder.lines))
    (gap,) = [one.event for one in found.of("GapDetected")]
    assert "counts its versions anew" in gap.reason
    assert [one.stream.uid for one in found.of("RunnerGone")] == [lost]
    assert found.world.runner_sets["EphemeralRunnerSet-demo"].replicas == 8, "lower versions are news now"


def test_a_missed_deletion_shows_when_the_name_is_taken(recorder, tmp_path):
    recorder.scene()
    recorder.tick(MINUTE)
    recorder.say("ADDED", recorder.cluster.runner("r1", uid="other"))
    found = bring_in(write(tmp_path / "w", recorder.lines))
    (gap,) = [one.event for one in found.of("GapDetected")]
    assert gap.scope == "EphemeralRunner ci/r1"
    assert found.told.count("RunnerGone") == 1


def test_unknown_kinds_and_bad_objects_hide_nothing(recorder, tmp_path):
    recorder.scene()
    clean = bring_in(write(tmp_path / "clean", recorder.lines))
    foreign = event("MODIFIED", recorder.cluster.make("Deployment", "d", api="apps/v1"), recorder.at)
    nameless = event("MODIFIED", {"kind": "Pod", "apiVersion": "v1", "metadata": {}}, recorder.at)
    dirty = bring_in(write(tmp_path / "dirty", [one for line in recorder.lines for one in (line, foreign, nameless)]))
    assert dirty.told == clean.told
    assert dirty.tally.noise["of unknown kind Deployment.apps"] == len(recorder.lines)
    assert len(dirty.tally.refused) == len(recorder.lines) == len(dirty.of("ObservationRefused"))


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_the_size_of_batches_does_not_matter(recorder, tmp_path, size):
    recorder.scene()
    recorder.list_anew()
    path = write(tmp_path / "w", recorder.lines)
    assert bring_in(path, batch_events=size).events == bring_in(path).events


def test_importing_the_same_lines_again_adds_no_facts(recorder, tmp_path):
    recorder.scene()
    first = bring_in(write(tmp_path / "w", recorder.lines))
    again = bring_in(tmp_path / "w", world=first.world)
    assert again.facts == []
    assert not again.of("GapDetected")


def test_a_later_file_goes_on_where_the_earlier_one_ended(recorder, tmp_path):
    runner_set, runners = recorder.scene()
    first = bring_in(write(tmp_path / "one", recorder.lines))
    recorder.lines.clear()
    del recorder.objects[runners[0]["metadata"]["uid"]]
    recorder.tick(HOUR)
    recorder.list_anew()
    spec = {**runner_set["spec"], "replicas": 0, "patchID": 0}
    recorder.say("MODIFIED", recorder.cluster.write(runner_set, spec=spec), after=SECOND)
    second = bring_in(write(tmp_path / "two", recorder.lines), world=first.world)
    (gap,) = [one.event for one in second.of("GapDetected")]
    assert gap.until - gap.since >= HOUR
    assert second.told == ["RunnerGone", "RunnerSetScaled"]


def test_a_later_file_without_a_list_leaves_a_gap(recorder, tmp_path):
    runner_set, _ = recorder.scene()
    first = bring_in(write(tmp_path / "one", recorder.lines))
    recorder.lines.clear()
    recorder.tick(MINUTE)
    recorder.say("MODIFIED", recorder.cluster.write(runner_set, spec={**runner_set["spec"], "replicas": 0}))
    second = bring_in(write(tmp_path / "two", recorder.lines), world=first.world)
    assert len(second.of("GapDetected")) == 1


def test_files_recorded_side_by_side_are_read_as_one_stream(recorder, tmp_path):
    recorder.scene()
    whole = bring_in(write(tmp_path / "whole", recorder.lines))
    pods = [line for line in recorder.lines if line["object"]["kind"] == "Pod"]
    others = [line for line in recorder.lines if line["object"]["kind"] != "Pod"]
    apart = bring_in(write(tmp_path / "pods", pods), write(tmp_path / "others", others))
    assert [one.observed_at for one in apart.facts] == sorted(one.observed_at for one in apart.facts)
    assert len(apart.facts) == len(whole.facts)
    assert not apart.of("GapDetected")
    assert set(apart.world.runners) == set(whole.world.runners)


def test_the_controllers_settings_are_read_off_what_it_made(recorder, tmp_path):
    recorder.say("ADDED", recorder.cluster.scale_set())
    listener = recorder.cluster.listener(image="ghcr.io/arc:0.14.2")
    recorder.say("ADDED", listener)
    pod = recorder.cluster.pod(listener)
    pod["spec"]["containers"][0] |= {"command": ["/listen"], "ports": [{"name": "metrics", "containerPort": 9000}]}
    recorder.say("ADDED", pod)
    found = bring_in(write(tmp_path / "w", recorder.lines))
    settings = found.world.settings
    assert (settings.controller_namespace, settings.listener_image) == ("arc", "ghcr.io/arc:0.14.2")
    assert (settings.listener_entrypoint, settings.metrics_addr) == ("/listen", ":9000")
    assert found.world.advisory
    assert type(found.events[0].event).__name__ == "SettingsDeclared"
    said = bring_in(tmp_path / "w", listener_image="mine:1")
    assert said.world.settings.listener_image == "mine:1"


def test_a_controller_that_was_upgraded_has_other_settings_from_then_on(recorder, tmp_path):
    recorder.say("ADDED", recorder.cluster.scale_set())
    old = recorder.say("ADDED", recorder.cluster.listener(image="arc:1"))
    recorder.tick(MINUTE)
    recorder.say("DELETED", recorder.cluster.write(old))
    new = recorder.cluster.listener(image="arc:2")
    new["metadata"]["uid"] = "new"
    recorder.say("ADDED", new)
    found = bring_in(write(tmp_path / "w", recorder.lines))
    assert [one.event.settings.listener_image for one in found.of("SettingsDeclared")] == ["arc:1", "arc:2"]
    pinned = bring_in(tmp_path / "w", listener_image="arc:3")
    assert [one.event.settings.listener_image for one in pinned.of("SettingsDeclared")] == ["arc:3"]


def test_the_end_is_a_moment_like_any_other(recorder, tmp_path):
    recorder.scene()
    path = write(tmp_path / "w", recorder.lines)
    end = bring_in(path).of("SourceExhausted")[0]
    assert end.observed_at == recorder.at - SECOND
    later = bring_in(path, as_of=NOON + HOUR).of("SourceExhausted")[0]
    assert later.observed_at == NOON + HOUR


def test_nothing_depends_on_the_time_of_the_import(recorder, tmp_path):
    recorder.scene()
    path = write(tmp_path / "w", recorder.lines)
    assert all(one.observed_at is not None for one in bring_in(path).events)


def test_json_numbers_out_of_range_are_refused_not_fatal(recorder, tmp_path):
    recorder.scene()
    line = json.dumps(recorder.lines[-1]).replace('"image": "runner:1"', '"x": 1e999')
    bring_in(write(tmp_path / "w", [*recorder.lines, line]))


def test_times_that_are_none_do_not_stop_an_import(recorder, tmp_path):
    recorder.scene()
    lines = [{key: value for key, value in one.items() if key != "received"} for one in recorder.lines]
    odd = json.loads(json.dumps(lines[-1]))
    odd["object"]["metadata"]["deletionTimestamp"] = "soon"
    found = bring_in(write(tmp_path / "w", [*lines, odd]))
    assert [one.reason for one in found.tally.refused] == ["deletionTimestamp is not a time"]
