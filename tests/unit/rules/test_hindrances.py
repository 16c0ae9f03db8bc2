"""What no rule can mend: old CRDs (H34), listeners that never come out right (A18), lost credentials (H26)."""

from __future__ import annotations

import pytest

from arcfsm.cluster.translator import ObjectTranslator
from arcfsm.domain import keys
from arcfsm.domain.envelope import Source
from arcfsm.domain.events.decision import Outcome, Verdict
from arcfsm.domain.events.listener import ListenerMetadataChanged
from arcfsm.domain.instant import MINUTE, SECOND
from arcfsm.domain.kinds import Kind
from arcfsm.domain.observation import Change, Observation
from arcfsm.domain.pruning import PRUNED, pruned_fields
from arcfsm.domain.snapshot import freeze, thaw
from tests.unit.rules.harness import Lab, Result
from tests.unit.rules.scenes import scene
from tests.unit.rules.telling import tell

NO_PHASE = {PRUNED: "spec.phase"}


@pytest.fixture
def lab():
    return Lab()


def codes(decided):
    return [finding.code for finding in decided.findings]


# H34


def test_H34_pruned_fields_are_those_that_were_said_and_are_not_there():
    written = {"status": {"phase": "Running", "appliedActionableRevision": 3, "finishedRunnerCleanupPatchID": 0}}
    assert pruned_fields(written, {"status": {"phase": "Running"}}) == ("status.appliedActionableRevision",)
    assert pruned_fields(written, {}) == ("status.appliedActionableRevision", "status.phase")
    assert pruned_fields({"metadata": {"labels": {"a": "b"}}}, {}) == ()


def test_H34_the_journal_stands_in_for_an_applied_revision_that_the_crd_drops(lab):
    ers = lab.runner_set(2, 3, r=(2, 1), m=9)
    lab.runner("a", "Running", of=ers, id=11, r=1, job=True)
    lab.script(
        "patch EphemeralRunnerSet/status", Result(vain=True, answer={PRUNED: "status.appliedActionableRevision"})
    )
    done = tell(lab, lab.drive(ers))
    assert done[0] == 'patch ERS/status! {"appliedActionableRevision":2,"finishedRunnerCleanupPatchID":0}'
    assert sum("appliedActionableRevision" in line for line in done) == 1, "it is not written again and again"
    assert lab.world.runner_sets[ers.uid].applied_revision == 2
    assert codes(lab.last(ers)) == ["CrdTooOld"]
    lab.later(60 * MINUTE)
    assert not any("appliedActionableRevision" in line for line in tell(lab, lab.drive(ers)))


def test_H34_what_the_api_shows_without_the_field_does_not_undo_it(lab):
    ers = lab.runner_set(2, 3, r=(2, 2))
    lab.world.pruned[Kind.RUNNER_SET] = frozenset({"status.appliedActionableRevision"})
    shown = {
        "apiVersion": "actions.github.com/v1alpha1",
        "kind": "EphemeralRunnerSet",
        "metadata": {
            "namespace": "arc-runners",
            "name": "demo",
            "uid": ers.uid,
            "resourceVersion": "9000",
            "ownerReferences": [
                {
                    "apiVersion": "actions.github.com/v1alpha1",
                    "kind": "AutoscalingRunnerSet",
                    "name": "demo",
                    "uid": "ars-0",
                    "controller": True,
                }
            ],
        },
        "spec": {"patchID": 3, "replicas": 2, "actionableRevision": 2},
        "status": {"phase": "Running"},
    }
    seen = Observation(change=Change.MODIFIED, object=shown, source=Source.WATCH, at=lab.now)
    names = {type(one.event).__name__ for one in ObjectTranslator().translate(lab.world, seen).arrivals}
    assert "RevisionApplied" not in names
    shown["status"]["appliedActionableRevision"] = 1
    told = ObjectTranslator().translate(lab.world, seen).arrivals
    assert "RevisionApplied" in {type(one.event).__name__ for one in told}, "a field that is there is believed"


def test_H34_an_observed_generation_that_is_dropped_is_not_written_for_ever(lab):
    ars = scene(lab, g=2, o=0).ars
    lab.script("patch AutoscalingRunnerSet/status", Result(vain=True, answer={PRUNED: "status.observedGeneration"}))
    assert tell(lab, lab.drive(ars)) == ['patch ARS/status {"observedGeneration":2}']
    assert (lab.last(ars).verdict, codes(lab.last(ars))) == (Verdict.SETTLED, ["CrdTooOld"])


def test_H34_a_field_that_is_kept_after_an_upgrade_is_believed_again(lab):
    ars = scene(lab, g=2, o=0).ars
    lab.world.pruned[Kind.SCALE_SET] = frozenset({"status.observedGeneration"})
    lab.drive(ars)
    assert lab.world.pruned == {}
    assert codes(lab.last(ars)) == []


def test_H34_a_listener_that_can_not_be_stopped_goes_while_the_set_is_parked(lab):
    ars, _, al = scene(lab, ers={"phase": "Outdated"}, phase="Outdated")
    lab.script("patch AutoscalingListener", Result(vain=True, answer=NO_PHASE))
    first, second = tell(lab, lab.drive(ars))[:2]
    assert (first.startswith("patch AL"), second.startswith("delete AL")) == (True, True)
    assert lab.world.listeners[al.uid].deleting or al.uid not in lab.world.listeners


def test_H34_what_is_dropped_is_part_of_a_snapshot(lab):
    lab.world.pruned[Kind.LISTENER] = frozenset({"spec.phase"})
    assert thaw(freeze(lab.world), lab.world.documents).pruned == lab.world.pruned


# A18 breaker


def test_A18_a_listener_that_comes_out_as_it_was_not_wanted_is_not_replaced_for_ever(lab):
    """The API or a webhook makes something else of what we create, each time."""
    ars = scene(lab, without="al").ars
    made = lab.hands._create

    def mutated(intent):
        facts = made(intent)
        if intent.kind is not Kind.LISTENER:
            return facts
        stream, event = facts[0]
        spec = {**lab.world.documents.mapping(event.spec), "image": "proxied/listener:1"}
        return [(stream, event.model_copy(update={"spec": lab.doc(spec)}))]

    lab.hands._create = mutated
    done = tell(lab, lab.drive(ars))
    assert sum(line.startswith("create AL") for line in done) == 1
    assert not any(line.startswith("delete AL") for line in done)
    decided = lab.last(ars)
    assert (decided.verdict, codes(decided)) == (Verdict.STALLED, ["ListenerDriftNotConverging"])


def test_A18_a_listener_that_somebody_else_keeps_changing_is_left_alone_after_some_tries(lab):
    ars = scene(lab, without="al").ars
    lab.drive(ars, only=False)
    deleted = 0
    for _ in range(12):
        lab.later(20 * SECOND)
        al = next((one for one in lab.world.listeners.values() if one.present), None)
        if al is not None and not al.deleting:
            stream = lab.world.named(*next(key for key, uid in lab.world._names.items() if uid == al.uid))
            metadata = lab.world.documents.mapping(al.metadata)
            labels = {**(metadata.get("labels") or {}), "argocd": "tracking"}
            lab.fold(stream, ListenerMetadataChanged(metadata=lab.doc({**metadata, "labels": labels})))
        deleted += sum(line.startswith("delete AL") for line in tell(lab, lab.drive(ars, only=False)))
    assert deleted == lab.world.settings.listener_recreations_max
    assert "ListenerDriftNotConverging" in codes(lab.last(ars))


def test_A18_other_wishes_are_tried_again(lab):
    ars = scene(lab, without="al").ars
    lab.drive(ars, only=False)
    state = lab.world.scale_sets[ars.uid]
    assert (len(state.listeners_made), state.listener_wanted != "") == (1, True)


# H26


def test_H26_without_credentials_a_deleted_scale_set_is_stuck_by_name_then_let_go(lab):
    ars = scene(lab, without="al ers", deleting=True).ars
    lab.script("delete-scale-set", Result(Outcome.FORBIDDEN, detail="Secret arc-runners/cred is missing"))
    lab.drive(ars)
    lab.look(ars)
    decided = lab.last(ars)
    assert (decided.verdict, codes(decided)) == (Verdict.STALLED, ["CredentialsRefused"])
    assert "Secret arc-runners/cred is missing" in decided.reason
    assert keys.SCALE_SET_FINALIZER in lab.world.scale_sets[ars.uid].finalizers
    lab.later(lab.world.settings.registration_abandon_after)
    lab.drive(ars)
    assert ars.uid not in lab.world.scale_sets
    assert any("RegistrationAbandoned" in codes(decided) for decided in lab.decisions)


def test_H26_a_runner_whose_credentials_went_first_is_let_go_after_a_while(lab):
    runner = lab.runner("a", "Running", id=11, deleting=True)
    lab.script("remove-runner", Result(Outcome.FORBIDDEN, detail="Secret arc-runners/cred is missing"))
    lab.script("read Pod", Result(Outcome.NOT_FOUND))
    lab.drive(runner)
    lab.look(runner)
    assert codes(lab.last(runner)) == ["CredentialsRefused"]
    lab.later(lab.world.settings.registration_abandon_after)
    assert tell(lab, lab.drive(runner))[-1].startswith('patch ER a {"metadata":{"finalizers":[]}}')
    assert any("RegistrationAbandoned" in codes(decided) for decided in lab.decisions)


# Runner sets that an older controller named


def test_a_runner_set_with_a_name_of_older_controllers_is_taken_over(lab):
    ars, _, _ = scene(lab, without="al", ers={"name": "demo-x7k2p"})
    done = tell(lab, lab.drive(ars))
    assert not any(line.startswith("create ERS") for line in done)
    listener = next(one for one in lab.world.listeners.values())
    assert lab.world.documents.mapping(listener.spec)["ephemeralRunnerSetName"] == "demo-x7k2p"


def test_A12_a_listener_that_names_a_runner_set_that_is_gone_is_replaced(lab):
    ars = scene(lab, al={"spec": {"ephemeralRunnerSetName": "demo-old"}}, ers={"name": "demo-new"}).ars
    assert tell(lab, lab.drive(ars, steps=5))[1].startswith("delete AL")
