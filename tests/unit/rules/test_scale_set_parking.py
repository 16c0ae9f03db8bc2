"""A scale set whose runners are refused: parked, held still, taken up again (T042–T056; H5, H38)."""

from __future__ import annotations

import pytest

from arcfsm.domain.events.decision import Outcome, Verdict
from arcfsm.domain.events.listener import ListenerSwitched
from arcfsm.domain.events.runner_set import RunnerSetGone, RunnerSetScaled
from arcfsm.domain.intents import CreateObject, ServiceCall
from tests.unit.rules.harness import LISTENER, Lab, Result
from tests.unit.rules.scenes import annotate, edit, registered, scene, service
from tests.unit.rules.telling import tell

STOP = f'patch AL {LISTENER} {{"spec":{{"phase":"Stopped"}}}}'
PIN = 'patch ERS {"spec":{"replicas":0,"patchID":0}}'
OUTDATED = 'patch ARS/status {"phase":"Outdated"}'
PENDING = 'patch ARS/status {"phase":"Pending"}'
NEW_TEMPLATE = {"spec": {"containers": [{"name": "runner", "image": "runner:2"}]}}
NEW_SPEC = '"ephemeralRunnerSpec":{"spec":{"containers":[{"name":"runner","image":"runner:2"}]}}'


@pytest.fixture
def lab():
    return Lab()


def refused(lab, *, revisions=(2, 2), rep=5, patch=9, **ars):
    """A scale set whose runner set is Outdated."""
    return scene(lab, ers={"rep": rep, "patch": patch, "r": revisions, "phase": "Outdated"}, **ars)


def parked(lab, *, al=None, rep=0, patch=0, **ars):
    """A scale set that is held still."""
    ars = {"g": 3, "o": 3, "phase": "Outdated", **ars}
    return refused(lab, rep=rep, patch=patch, al={"phase": "Stopped", **(al or {})}, **ars)


def test_T042_parks_for_its_applied_revision(lab):
    ars, ers, _al = refused(lab, g=3, o=3)
    assert tell(lab, lab.drive(ars)) == [OUTDATED, STOP, PIN]
    one = lab.world.runner_sets[ers.uid]
    assert (one.actionable_revision, one.phase) == (2, "Outdated")
    assert lab.world.scale_sets[ars.uid].observed_generation == 3
    assert (lab.last(ars).rule, lab.last(ars).verdict) == ("A6", Verdict.HOLD)


def test_T042_the_stopped_listener_is_brought_up_to_date_in_the_same_write(lab):
    ars, _, _al = refused(lab, g=3, o=3)
    edit(lab, ars, maxRunners=30)
    assert tell(lab, lab.drive(ars)) == [
        OUTDATED,
        f'patch AL {LISTENER} {{"spec":{{"maxRunners":30,"phase":"Stopped"}}}}',
        PIN,
    ]


def test_T043_a_revision_that_is_not_applied_parks_nothing(lab):
    ars, _, _ = refused(lab, revisions=(3, 2))
    assert lab.drive(ars) == []
    assert lab.last(ars).rule == "A20"


def test_T044_a_spec_that_was_mended_is_published_instead(lab):
    ars, _ers, _ = refused(lab)
    edit(lab, ars, template=NEW_TEMPLATE)
    done = tell(lab, lab.drive(ars))
    assert f'patch ERS {{"spec":{{{NEW_SPEC},"actionableRevision":3}}}}' in done
    assert OUTDATED not in done
    assert lab.world.scale_sets[ars.uid].phase != "Outdated"


def test_T045_the_phase_of_the_scale_set_does_not_matter(lab):
    ars, _, _ = refused(lab, g=4, o=3, phase="Pending")
    assert tell(lab, lab.drive(ars)) == [OUTDATED, STOP, PIN]
    assert lab.world.scale_sets[ars.uid].observed_generation == 3


def test_T045_even_in_the_pass_that_would_make_it_pending(lab):
    ars, _, _ = refused(lab, g=4, o=3, phase="Running")
    assert tell(lab, lab.drive(ars)) == [OUTDATED, STOP, PIN]


def test_T046_edits_of_anything_but_runners_keep_it_parked(lab):
    ars, _, al = parked(lab)
    edit(lab, ars, maxRunners=30)
    assert tell(lab, lab.drive(ars)) == [f'patch AL {LISTENER} {{"spec":{{"maxRunners":30,"phase":"Stopped"}}}}']
    one = lab.world.scale_sets[ars.uid]
    assert (one.phase, one.observed_generation) == ("Outdated", 3)
    assert lab.world.listeners[al.uid].stopped


def test_T047_another_template_takes_it_up_again_in_one_pass(lab):
    ars, _ers, _ = parked(lab)
    edit(lab, ars, template=NEW_TEMPLATE)
    assert tell(lab, lab.look(ars).intents) == [
        PENDING,
        f'patch ERS {{"spec":{{{NEW_SPEC},"actionableRevision":3}}}}',
    ]


def test_T048_metadata_of_runners_alone_takes_it_up_again_and_gets_a_revision(lab):
    ars, _ers, _ = parked(lab)
    edit(lab, ars, ephemeralRunnerMetadata={"labels": {"team": "x"}})
    assert tell(lab, lab.look(ars).intents) == [
        PENDING,
        'patch ERS {"spec":{"ephemeralRunnerMetadata":{"labels":{"team":"x"}},"actionableRevision":3}}',
    ]


def test_T049_a_missing_runner_set_takes_it_up_again(lab):
    ars, ers, _ = parked(lab)
    lab.fold(ers, RunnerSetGone())
    assert tell(lab, lab.look(ars).intents) == [PENDING, "create ERS demo"]


def test_T050_a_listener_that_was_switched_on_by_hand_is_stopped(lab):
    ars, _, al = parked(lab)
    lab.fold(al, ListenerSwitched(phase="Running"))
    assert tell(lab, lab.drive(ars)) == [STOP]


def test_T051_a_late_wish_of_the_listener_is_taken_back(lab):
    ars, ers, _ = parked(lab)
    lab.fold(ers, RunnerSetScaled(replicas=4, patch_id=12))
    assert tell(lab, lab.drive(ars)) == [PIN]


def test_T052_a_renamed_listener_is_replaced_by_a_stopped_one_which_comes_first(lab):
    ars, _, _al = parked(lab, runnerGroup="default")
    edit(lab, ars, runnerGroup="Default")
    done = tell(lab, lab.drive(ars))
    assert [line.split()[0] for line in done] == ["create", "delete"]
    assert done[1] == "delete AL demo-6c54f496-listener"
    assert lab.patch_of(lab.done[0])["spec"]["phase"] == "Stopped"


def test_T052_the_old_listener_stays_until_the_new_one_is_there(lab):
    ars, _, al = parked(lab, runnerGroup="default")
    edit(lab, ars, runnerGroup="Default")
    lab.script(CreateObject, Result(Outcome.FAILED, detail="503"))
    assert len(lab.drive(ars)) == 1
    assert not lab.world.listeners[al.uid].deleting


def test_T053_no_listener_is_created_where_none_is(lab):
    ars, _, _ = parked(lab, without="al")
    assert lab.drive(ars) == []


def test_T054_everything_pinned_means_nothing_to_do(lab):
    ars, _, _ = parked(lab)
    assert lab.drive(ars) == []
    assert lab.last(ars).verdict is Verdict.HOLD


def test_T055_a_lost_id_is_got_back_while_parked(lab):
    ars, ers, _ = parked(lab)
    annotate(lab, ars, id=None)
    service(lab, ServiceCall.REGISTER_SCALE_SET, registered(7))
    done = tell(lab, lab.drive(ars))
    assert [line.split()[1] for line in done if line.startswith("call")] == ["register-scale-set"]
    one = lab.world.scale_sets[ars.uid]
    assert (one.scale_set_id, one.phase) == (7, "Outdated")
    assert lab.last(ars).rule == "A6"
    assert lab.world.runner_sets[ers.uid].actionable_revision == 2


def test_T055_another_id_means_other_runners_and_takes_it_up_again(lab):
    ars, _ers, _ = parked(lab)
    annotate(lab, ars, id=None)
    service(lab, ServiceCall.REGISTER_SCALE_SET, registered(8))
    done = tell(lab, lab.drive(ars))
    assert PENDING in done
    assert 'patch ERS {"spec":{"ephemeralRunnerSpec":{"runnerScaleSetId":8},"actionableRevision":3}}' in done


def test_A6_an_invalid_url_keeps_it_parked_and_stopped(lab):
    ars, _, _al = parked(lab, al={"phase": ""}, rep=3, patch=4)
    edit(lab, ars, githubConfigUrl="nonsense")
    done = tell(lab, lab.drive(ars))
    assert done == [STOP, PIN]


def test_A6_foreign_metadata_of_the_stopped_listener_stays(lab):
    from arcfsm.domain.events.listener import ListenerMetadataChanged

    ars, _, al = parked(lab)
    one = lab.world.listeners[al.uid]
    metadata = lab.world.documents.mapping(one.metadata)
    extra = {**metadata, "labels": {**metadata["labels"], "team": "x"}}
    lab.fold(al, ListenerMetadataChanged(metadata=lab.doc(extra)))
    assert lab.drive(ars) == []


def test_A6_metadata_reaches_runner_set_and_listener_of_a_parked_set(lab):
    ars, _, _ = parked(lab)
    annotate(lab, ars, "labels", team="x")
    assert tell(lab, lab.drive(ars)) == [
        f'patch AL {LISTENER} {{"metadata":{{"labels":{{"team":"x"}}}},"spec":{{"phase":"Stopped"}}}}',
        'patch ERS {"spec":{"replicas":0,"patchID":0},"metadata":{"labels":{"team":"x"}}}',
    ]
    assert lab.drive(ars) == []


def test_A6_a_runner_set_that_is_going_is_left_alone(lab):
    ars, _ers, _ = scene(
        lab, phase="Outdated", ers={"rep": 3, "patch": 4, "r": (2, 2), "phase": "Outdated", "deleting": True}
    )
    assert tell(lab, lab.drive(ars)) == [STOP]


def test_advice_for_a_refused_set_is_to_park_it():
    lab = Lab(advisory=True)
    ars, _, _ = refused(lab, g=3, o=3)
    assert tell(lab, lab.look(ars).intents) == [OUTDATED, STOP, PIN]
    assert lab.look(ars) is None


def test_A5_stays_parked_whatever_the_runner_set_says_as_long_as_the_same_runners_are_wanted(lab):
    ars, _, _ = scene(lab, phase="Outdated", ers={"r": (2, 2), "phase": "Running"}, al={"phase": "Stopped"})
    assert lab.drive(ars) == []
    assert lab.last(ars).rule == "A6"
