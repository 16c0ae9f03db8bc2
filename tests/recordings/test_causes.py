"""Why: the chains that recordings of a real cluster lead to, as their README tells what was done."""

from __future__ import annotations

from itertools import pairwise

import pytest

from arcfsm.audit.naming import find_objects
from arcfsm.audit.past import Past
from arcfsm.audit.search import find_stalls
from arcfsm.audit.why import Kind, Link, explain
from arcfsm.domain.documents import Documents
from arcfsm.domain.world import World


def why(told, name: str, *, seq: int | None = None):
    """Explain an object at a seq, by default at the end."""
    seq = seq or told.journal.head.seq
    known = [one for one in find_objects(told.journal, name) if one.first_seq <= seq][-1]
    world = World(Documents(told.journal.document))
    events = told.journal.events(to_seq=seq)
    stalls, _ = find_stalls(world, events, until=None, past=Past(told.journal), only=known.stream)
    return explain(told.journal, known, seq, [one for one in stalls if one.until is None])


def texts(chain) -> list[str]:
    return [step.text for step in chain]


def name_of(told, stream) -> str:
    return "/".join(Past(told.journal).name(stream))


def released(told) -> str:
    """A runner that did nothing wrong: idle when its set went Outdated."""
    jobs = {one.stream for one in told.events("RunnerJobAssigned")}
    return name_of(told, next(one.stream for one in told.events("RunnerGone") if one.stream not in jobs))


def test_the_idle_runner_was_deleted_because_of_another_that_exited_with_seven(story):
    told = story("spec-update-with-busy-runner")
    answer = why(told, f"runner/{released(told)}")
    assert answer.standing.state == "gone"
    assert texts(answer.chain)[:6] == [
        "vanished",
        "its deletion was asked for",
        "phase became Outdated",
        "phase became Outdated (Outdated: Runner is deprecated)",
        "its container exited with code 7",
        "it was built from revision 0 of the runner spec",
    ]
    kinds = [step.stream.kind.value for step in answer.chain[:6]]
    assert kinds == ["runner", "runner", "runner-set", "runner", "runner", "runner"]
    assert answer.chain[0].stream != answer.chain[4].stream, "the one that exited is another runner"
    assert all(step.kind is Kind.OBSERVED for step in answer.chain[:-1]), "arcfsm did none of it"
    assert {step.link for step in answer.chain[1:]} == {Link.INFERRED}, "a watch records no causes"
    assert any(note.startswith("arcfsm advised the same: S4") for note in answer.chain[1].notes)


def test_the_silent_scale_set_tells_its_stall_and_what_led_to_it(story):
    told = story("spec-update-with-busy-runner")
    answer = why(told, "scale-set/ci-runners/ci-linux")
    assert answer.standing.state == "pending"
    assert texts(answer.chain)[-2:] == ["its spec was changed at /template/spec/containers/0/image", "Python edited it"]
    (held,) = answer.held
    assert "no listener, and the runner set is Outdated for a spec that is no longer wanted" in held.stall.reason
    led = [step for chain in held.chains for step in chain]
    assert "its container exited with code 7" in texts(led)
    otherwise = [note for step in led for note in step.notes if "advised otherwise" in note]
    assert any("A14" in note and "publishing revision 1" in note for note in otherwise), "instead of waiting (S3, H24)"
    assert answer.word.event.rule == "A14"
    assert answer.word.event.advisory


def test_the_sixth_runner_replaces_one_whose_job_was_over(story):
    told = story("scale-up-and-drain")
    last = max(told.events("RunnerCreated"), key=lambda one: one.seq)
    answer = why(told, f"runner/{name_of(told, last.stream)}", seq=last.seq)
    assert texts(answer.chain)[0].startswith("was created for patch 2")
    assert "5 were still wished for under patch 2" in texts(answer.chain)[1]
    assert any("advised otherwise" in note for note in answer.chain[0].notes)
    assert "its container exited with code 0" in texts(answer.chain)[:5]


def test_a_runner_goes_because_fewer_are_wished_for(story):
    told = story("scale-up-and-drain")
    last = max(told.events("RunnerCreated"), key=lambda one: one.seq)
    answer = why(told, f"runner/{name_of(told, last.stream)}")
    assert texts(answer.chain)[1:3] == ["its deletion was asked for", "0 runners wished for under patch 0"]
    assert answer.chain[-1].kind is Kind.OUTSIDE, "the service's jobs are not in the journal"


def test_who_deleted_the_pod_of_the_busy_runner_is_not_made_up(story):
    told = story("pod-lost-while-busy")
    lost = told.events("RunnerPodGone")[0]
    answer = why(told, f"pod/{name_of(told, lost.stream)}")
    assert texts(answer.chain)[:3] == [
        "a pod was created for it",
        "its pod vanished",
        "the deletion of its pod was asked for",
    ]
    assert answer.chain[0].notes[0] == "it had taken a job: the registration was used up by the pod before"
    assert any("advised otherwise: R-deletePodOrRunner" in note for note in answer.chain[0].notes)
    assert answer.chain[-1].kind is Kind.UNKNOWN
    assert "audit log" in answer.chain[-1].text
    assert answer.held[0].stall.name == "used-registration"


def test_the_pod_after_the_fourth_failure_came_too_early(story):
    told = story("pod-start-failures")
    created = told.events("RunnerPodCreated")
    assert len(created) == 6
    notes = [why(told, f"runner/{name_of(told, one.stream)}", seq=one.seq).chain[0].notes for one in created]
    hasty = [next((note for note in found if "are due (R12)" in note), "") for found in notes]
    assert hasty[:4] == ["", "", "", ""], "5, 10 and 20 seconds were waited for"
    assert hasty[4].endswith("after failure 4; 40s are due (R12)")


def test_the_twelfth_runner_came_with_the_next_patch_id_only(story):
    told = story("controller-restart-mid-scale-up")
    twelfth = told.events("RunnerCreated")[11]
    answer = why(told, f"runner/{name_of(told, twelfth.stream)}", seq=twelfth.seq)
    assert texts(answer.chain)[1] == "12 runners wished for under patch 2"
    assert answer.chain[0].at - told.events("RunnerCreated")[10].at > 60_000_000


def test_what_appeared_while_nobody_watched_has_its_cause_in_the_gap(story):
    told = story("watch-gap")
    appeared = told.events("RunnerPodObserved")[0]
    answer = why(told, f"runner/{name_of(told, appeared.stream)}", seq=appeared.seq)
    assert answer.chain[-1].kind is Kind.GAP
    assert "the cause may lie in a gap" in answer.chain[-1].text
    vanished = told.events("RunnerGone")[0]
    answer = why(told, f"runner/{name_of(told, vanished.stream)}", seq=vanished.seq)
    assert [step.kind for step in answer.chain] == [Kind.OBSERVED, Kind.GAP, Kind.OUTSIDE]
    assert answer.chain[1].link is Link.RECORDED


def test_each_edit_replaced_the_listener(story):
    told = story("scale-set-edits")
    deleted = told.events("ListenerDeletionRequested")
    assert len(told.events("ListenerCreated")) == len(deleted) + 1 == 4
    behind = []
    for one in deleted:
        chain = why(told, f"listener/{name_of(told, one.stream)}", seq=one.seq).chain
        behind.append(next(step.text for step in chain if step.by == "Python"))
    assert behind[0] == "its spec was changed at /maxRunners"
    assert behind[1] == "its spec was changed at /minRunners"
    assert behind[2].startswith("its labels or annotations were changed at /")


def test_everything_went_because_the_scale_set_was_deleted(story):
    told = story("scale-set-deleted")
    runners = {one.stream: None for one in told.events("RunnerGone")}
    busy = {one.stream for one in told.events("RunnerJobAssigned")}
    for stream in runners:
        chain = why(told, f"runner/{name_of(told, stream)}").chain
        if stream in busy:
            assert "its container exited with code 0" in texts(chain), "its job ended by itself"
        else:
            assert chain[-2].text == "its deletion was asked for"
            assert chain[-2].stream.kind == "scale-set"
            assert chain[-1].kind is Kind.UNKNOWN, "a watch does not tell who deletes"


def test_the_refused_runner_is_behind_every_teardown(story):
    told = story("runner-version-refused")
    gone = told.events("RunnerSetDeletionRequested")
    assert len(gone) == 6
    for one in gone:
        known = find_objects(told.journal, "runner-set/ci-runners/ci-linux")
        object_ = next(found for found in known if found.stream == one.stream)
        assert "its container exited with code 7" in texts(explain(told.journal, object_, one.seq).chain)


NAMES = (
    "controller-restart-mid-scale-up",
    "empty-env-hot-loop",
    "json-log-runner-version-refused",
    "json-log-scale-up-and-drain",
    "pod-lost-while-busy",
    "pod-start-failures",
    "runner-version-refused",
    "scale-set-deleted",
    "scale-set-edits",
    "scale-up-and-drain",
    "spec-update-with-busy-runner",
    "watch-gap",
)


@pytest.mark.parametrize("name", NAMES)
def test_every_object_has_a_chain_that_goes_back_in_time_and_ends(story, name):
    told = story(name)
    streams = {one.stream for one in told.journal.events() if one.stream.kind != "controller"}
    past = Past(told.journal)
    for stream in streams:
        namespace, called = past.name(stream)
        known = next(
            one for one in find_objects(told.journal, f"{stream.kind}/{namespace}/{called}") if one.stream == stream
        )
        answer = explain(told.journal, known, told.journal.head.seq)
        seqs = [step.seq for step in answer.chain if step.seq is not None and step.kind is not Kind.GAP]
        assert all(later > earlier for later, earlier in pairwise(seqs))
        assert answer.chain[-1].kind in (Kind.OUTSIDE, Kind.UNKNOWN, Kind.GAP, Kind.MORE)
