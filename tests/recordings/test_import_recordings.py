"""What the recordings of a real cluster show, as events: the facts their README lists, before any rule has a say."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from arcfsm.domain.instant import MILLISECOND, SECOND
from arcfsm.samples import sample_names, sample_path
from tests.unit.importing.workshop import bring_in

ROOT = Path(__file__).parents[2]
RECORDINGS = ROOT.parent / "shared" / "recordings"
SCENARIOS = sorted(path.parent.name for path in RECORDINGS.glob("*/watch.jsonl"))
needs_recordings = pytest.mark.skipif(not SCENARIOS, reason=f"no recordings beside the project at {RECORDINGS}")
pytestmark = needs_recordings

_IMPORTED = {}


def recorded(name):
    """Import a recording, once per test run."""
    if name not in _IMPORTED:
        _IMPORTED[name] = bring_in(RECORDINGS / name / "watch.jsonl")
    return _IMPORTED[name]


def phases(found, event="ScaleSetPhaseChanged"):
    return [one.event.phase for one in found.of(event)]


def runner_pods(found):
    return found.of("RunnerPodCreated")


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_line_is_accounted_for(name):
    found = recorded(name)
    lines = (RECORDINGS / name / "watch.jsonl").read_text().count("\n")
    counted = found.tally
    assert counted.lines == lines
    assert counted.observations + counted.bookmarks == lines
    assert not counted.refused
    with_a_trace = {one.resource_version for one in found.facts if one.resource_version}
    assert len(with_a_trace) <= counted.observations - counted.ignored + 1


@pytest.mark.parametrize("name", [one for one in SCENARIOS if one != "watch-gap"])
def test_what_was_watched_without_a_break_has_no_gap(name):
    found = recorded(name)
    assert not found.of("GapDetected")
    assert not [one for one in found.told if one.endswith("Observed") and not one.startswith("Dependent")]


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_event_of_a_set_belongs_to_its_scale_set(name):
    found = recorded(name)
    # A Secret without labels may outlive its runner and its set: then nothing says any more whose it was.
    of_a_set = [one for one in found.facts if one.correlation or type(one.event).__name__ != "DependentGone"]
    assert {one.correlation for one in of_a_set} == {one.stream.uid for one in found.of("ScaleSetCreated")}


@pytest.mark.parametrize("name", ["scale-up-and-drain", "json-log-scale-up-and-drain"])
def test_scale_up_and_drain(name):
    found = recorded(name)
    assert found.told.count("RunnerCreated") == len(runner_pods(found)) == 6
    sixth = found.of("RunnerCreated")[5]
    first_end = found.of("RunnerPodTerminated")[0]
    assert first_end.event.pod.container.exit_code == 0
    assert 0 < sixth.at - first_end.at < 100 * MILLISECOND, "a runner for a job that is over"
    assert sixth.event.patch_id == 2
    assert "Succeeded" not in phases(found, "RunnerPhaseChanged")
    wishes = [(one.event.replicas, one.event.patch_id) for one in found.of("RunnerSetScaled")]
    assert wishes[-1] == (0, 0)
    assert found.told.count("RunnerGone") == 6
    assert not found.world.runners


def test_spec_update_with_busy_runner():
    found = recorded("spec-update-with-busy-runner")
    assert phases(found) == ["Pending", "Running", "Pending"]
    assert phases(found, "RunnerSetPhaseChanged") == ["Running", "Outdated"]
    assert found.told.count("ListenerCreated") == found.told.count("ListenerGone") == 1
    assert "RunnerSpecPublished" not in found.told, "the new image never reaches the runner set"
    edit = found.of("ScaleSetSpecChanged")[0]
    outdated = next(one for one in found.of("RunnerPhaseChanged") if one.event.phase == "Outdated")
    refused = next(one for one in found.of("RunnerPodTerminated") if one.event.pod.container.exit_code == 7)
    assert edit.at < refused.at < outdated.at
    born = next(one for one in found.of("RunnerCreated") if one.stream == refused.stream)
    assert born.at < edit.at, "it was built from the old spec"
    documents = found.world.documents
    assert documents.get(born.event.spec) != documents.get(edit.event.spec)["template"]
    (scale_set,) = found.world.scale_sets.values()
    (runner_set,) = found.world.runner_sets.values()
    assert (scale_set.phase, runner_set.phase) == ("Pending", "Outdated")
    assert not found.world.listeners
    assert not found.world.runners


@pytest.mark.parametrize("name", ["runner-version-refused", "json-log-runner-version-refused"])
def test_runner_version_refused(name):
    found = recorded(name)
    counts = Counter(found.told)
    assert counts["RunnerSetCreated"] == 7
    assert counts["ListenerCreated"] == 7
    assert counts["RunnerCreated"] == 20
    assert "Outdated" not in phases(found)
    assert set(phases(found)) == {"Pending", "Running"}
    exits = Counter(one.event.pod.container.exit_code for one in found.of("RunnerPodTerminated"))
    assert set(exits) == {7}


def test_pod_lost_while_busy():
    found = recorded("pod-lost-while-busy")
    (lost,) = found.of("RunnerPodGone")
    after = [one for one in found.facts if one.stream == lost.stream and one.seq > lost.seq]
    names = [type(one.event).__name__ for one in after]
    assert names[0] == "RunnerPodCreated", "a new pod at once"
    assert [one.event.phase for one in after if type(one.event).__name__ == "RunnerPhaseChanged"] == [
        "Pending",
        "Running",
    ]
    runner = found.world.runners[lost.stream.uid]
    assert runner.has_job
    assert runner.state == "busy"
    assert runner.pods_seen == 2


def test_controller_restart_mid_scale_up():
    found = recorded("controller-restart-mid-scale-up")
    births = found.of("RunnerCreated")
    assert len(births) == 12
    assert births[11].at - births[10].at > 60 * SECOND
    assert [one.event.patch_id for one in births] == [1] * 11 + [2]
    assert not found.world.runners
    assert found.tally.bookmarks == 17
    assert found.resume["pods"]


def test_pod_start_failures():
    found = recorded("pod-start-failures")
    assert found.told.count("RunnerCreated") == 1
    pods = runner_pods(found)
    assert len(pods) == 6
    assert [len(one.event.failures) for one in found.of("RunnerFailuresRecorded")] == [1, 2, 3, 4, 5]
    waits = [round((later.at - earlier.at) / SECOND) for earlier, later in pairwise(pods)]
    assert waits[:3] == [5, 10, 20]
    assert waits[3] == 0, "after the fourth failure the next pod comes at once"


def test_scale_set_edits():
    found = recorded("scale-set-edits")
    assert found.told.count("ListenerCreated") == 4
    assert found.told.count("ListenerGone") == 3
    assert phases(found) == ["Pending", "Running"] * 4
    ids = [one.event.scale_set_id for one in found.of("ScaleSetMetadataChanged")]
    assert ids.count(0) >= 1
    assert len({one for one in ids if one}) == 1 or ids[-1] != ids[0], "a new registration follows"
    assert 0 in ids[1:-1], "the annotation with the id was removed, and came back"


def test_scale_set_deleted():
    found = recorded("scale-set-deleted")
    order = [name for name in found.told if name in {"ListenerGone", "RunnerSetGone", "ScaleSetGone"}]
    assert order == ["ListenerGone", "RunnerSetGone", "ScaleSetGone"]
    gone = found.of("RunnerGone")
    assert gone[1].at - gone[0].at > 5 * SECOND, "the busy one waits for its job"
    world = found.world
    assert world.streams() == ()


def test_empty_env_hot_loop():
    found = recorded("empty-env-hot-loop")
    patches = found.of("RunnerSetMetadataChanged")
    assert len(patches) > 40, "the same patch again and again"
    assert (patches[-1].at - patches[0].at) / len(patches) < 100 * MILLISECOND
    assert "RunnerSpecPublished" not in found.told, "and none of them changes what runners are made of"


def test_watch_gap():
    found = recorded("watch-gap")
    listed, silent = found.of("GapDetected")
    assert listed.event.until - listed.event.since == pytest.approx(2.8 * SECOND, rel=0.05)
    assert {"EphemeralRunner", "Pod"} <= set(listed.event.scope.split(", "))
    assert (silent.event.scope, silent.event.until) == ("Secret", None), "the second list held no Secrets"
    late = [one for one in found.facts if one.cause == listed.seq]
    assert [type(one.event).__name__ for one in late] == ["RunnerPodGone", "RunnerGone"]
    assert len({one.stream for one in late}) == 1
    seen_later = found.of("RunnerObserved")
    assert len(seen_later) == 3
    assert len(found.of("RunnerCreated")) == 3
    births = {one.event.name for one in [*seen_later, *found.of("RunnerCreated")]}
    assert len(births) == 6, "nothing is invented"


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("size", [1, 7])
def test_batches_do_not_matter(name, size):
    assert bring_in(RECORDINGS / name / "watch.jsonl", batch_events=size).events == recorded(name).events


@pytest.mark.parametrize("name", ["watch-gap", "spec-update-with-busy-runner"])
def test_a_second_import_knows_everything(name):
    once = bring_in(RECORDINGS / name / "watch.jsonl")
    again = bring_in(RECORDINGS / name / "watch.jsonl", world=once.world)
    ownerless = {"Role", "RoleBinding"}
    assert [one for one in again.facts if getattr(one.event, "kind", "") not in ownerless] == []


def test_hash_seeds_do_not_matter():
    program = (
        "import sys, hashlib; from pathlib import Path; from tests.unit.importing.workshop import bring_in\n"
        "found = bring_in(Path(sys.argv[1]))\n"
        "print(hashlib.sha256(repr(found.events).encode()).hexdigest())"
    )
    path = str(RECORDINGS / "watch-gap" / "watch.jsonl")
    seen = {
        subprocess.run(
            [sys.executable, "-c", program, path],
            check=True,
            capture_output=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        ).stdout
        for seed in ("0", "1", "4711")
    }
    assert len(seen) == 1


def test_without_times_of_reception_the_same_happened(tmp_path):
    """Stripped of its times a recording tells the same story, to the second."""
    source = (RECORDINGS / "scale-up-and-drain" / "watch.jsonl").read_text().splitlines()
    path = tmp_path / "raw.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join('{"type"' + line.split('"type"', 1)[1] for line in source).encode()))
    raw, timed = bring_in(path), recorded("scale-up-and-drain")
    interesting = ("RunnerCreated", "RunnerPodTerminated", "RunnerGone", "RunnerSetScaled", "ScaleSetPhaseChanged")
    assert [type(one.event).__name__ for one in raw.of(*interesting)] == [
        type(one.event).__name__ for one in timed.of(*interesting)
    ]
    assert not raw.of("GapDetected")
    for one, other in zip(raw.of("RunnerPodTerminated"), timed.of("RunnerPodTerminated"), strict=True):
        assert abs(one.at - other.at) <= 2 * SECOND


@pytest.mark.parametrize("name", sample_names())
def test_samples_are_faithful_copies(name):
    assert sample_path(name).read_bytes() == (RECORDINGS / name / "watch.jsonl").read_bytes()
