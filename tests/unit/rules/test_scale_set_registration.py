"""Registration of a scale set: id, group and name on the service (T008–T016)."""

from __future__ import annotations

import pytest

from arcfsm.domain import keys
from arcfsm.domain.events.decision import Outcome, Verdict
from arcfsm.domain.instant import SECOND
from arcfsm.domain.intents import ServiceCall
from tests.unit.rules.harness import Lab, Result
from tests.unit.rules.scenes import annotate, edit, registered, scene, service
from tests.unit.rules.telling import tell

NOT_FOUND = Result(Outcome.NOT_FOUND, status=404)


@pytest.fixture
def lab():
    return Lab()


def first(lab, ars):
    """What one look wants, or nothing."""
    decided = lab.look(ars)
    return tell(lab, decided.intents) if decided is not None else []


# A7, A8: registration


def test_T008_a_new_scale_set_is_registered_and_written_down(lab):
    ars = lab.scale_set(g=1, o=0, phase="", id=None, runnerScaleSetName=None)
    service(lab, ServiceCall.REGISTER_SCALE_SET, registered(7))
    done = tell(lab, lab.drive(ars, steps=4 + 10))[:3]
    assert done == [
        'patch ARS/status {"phase":"Pending"}',
        "call register-scale-set url=https://github.com/acme/repo group= name=demo labels=demo",
        (
            'patch ARS {"metadata":{"annotations":{"runner-scale-set-id":"7",'
            '"actions.github.com/runner-scale-set-name":"demo","actions.github.com/runner-group-name":"default"},'
            '"labels":{"actions.github.com/organization":"acme","actions.github.com/repository":"repo"}},'
            '"spec":{"runnerScaleSetName":"demo"}}'
        ),
    ]


def test_T008_the_generation_is_observed_at_the_end_only(lab):
    ars = lab.scale_set(g=1, o=0, phase="", id=None)
    service(lab, ServiceCall.REGISTER_SCALE_SET, registered(7))
    lab.drive(ars)
    assert lab.last(ars).verdict is Verdict.SETTLED
    done = tell(lab, lab.done)
    assert [line for line in done if "observedGeneration" in line] == [done[-1]]
    assert done[-1] == 'patch ARS/status {"phase":"Running","observedGeneration":1}'


def test_T009_what_the_service_finds_is_written_down(lab):
    ars = scene(lab, without="ers al", id=None, runnerGroup="gpu").ars
    service(lab, ServiceCall.REGISTER_SCALE_SET, registered(9, group="gpu"))
    lab.drive(ars)
    assert tell(lab, lab.done)[0] == (
        "call register-scale-set url=https://github.com/acme/repo group=gpu name=demo labels=demo"
    )
    assert lab.world.scale_sets[ars.uid].scale_set_id == 9


def test_T010_labels_are_sent_once_each_with_the_name_first(lab):
    ars = lab.scale_set(id=None, runnerScaleSetLabels=["demo", "x", "x", "y"])
    assert first(lab, ars)[0].endswith("name=demo labels=demo,x,y")


@pytest.mark.parametrize("id", ["0", "abc", "-3", None])
def test_T011_an_unusable_id_means_registration(lab, id):
    ars = lab.scale_set(id=id)
    assert first(lab, ars)[0].startswith("call register-scale-set")


def test_T012_an_error_of_the_service_is_retried_later_and_nothing_is_written(lab):
    ars = lab.scale_set(id=None, runnerGroup="none")
    service(lab, ServiceCall.REGISTER_SCALE_SET, Result(Outcome.FAILED, detail="runner group `none` not found"))
    assert len(lab.drive(ars)) == 1
    decided = lab.last(ars)
    assert decided.verdict is Verdict.WAIT
    assert "runner group `none` not found" in decided.reason
    assert lab.wake_at(ars) == lab.now + SECOND


def test_A8_an_answer_from_before_the_annotation_was_removed_does_not_count(lab):
    ars = scene(lab, id=None).ars
    service(lab, ServiceCall.REGISTER_SCALE_SET, registered(7), registered(8))
    lab.drive(ars)
    assert lab.world.scale_sets[ars.uid].scale_set_id == 7
    annotate(lab, ars, id=None)
    start = len(lab.done)
    lab.drive(ars)
    assert tell(lab, lab.done[start:])[0].startswith("call register-scale-set")
    assert lab.world.scale_sets[ars.uid].scale_set_id == 8


def test_A8_a_url_that_names_nothing_stalls_with_the_reason(lab):
    ars = lab.scale_set(id=None, githubConfigUrl="https://github.com")
    assert lab.drive(ars) == []
    assert lab.last(ars).verdict is Verdict.STALLED
    assert "https://github.com" in lab.last(ars).reason


# A9, A10: group and name


def test_T013_a_new_group_is_told_to_the_service(lab):
    ars = scene(lab, runnerGroup="GPU").ars
    service(lab, ServiceCall.UPDATE_SCALE_SET, registered(group="gpu"))
    assert tell(lab, lab.drive(ars))[:2] == [
        "call update-scale-set id=7 group=GPU",
        'patch ARS {"metadata":{"annotations":{"actions.github.com/runner-group-name":"gpu"}}}',
    ]


@pytest.mark.parametrize(
    ("test", "annotation", "spec"), [("T014", "Gpu", "gpu"), ("T015", "gpu", ""), ("T015", "gpu", None)]
)
def test_T014_T015_no_call_where_the_group_did_not_change(lab, test, annotation, spec):
    ars = scene(lab, annotations={keys.RUNNER_GROUP_NAME: annotation}, runnerGroup=spec).ars
    assert not any(line.startswith("call update") for line in tell(lab, lab.drive(ars)))


def test_T016_a_new_name_is_told_to_the_service(lab):
    ars = scene(lab, annotations={keys.RUNNER_SCALE_SET_NAME: "old"}, runnerScaleSetName="new").ars
    service(lab, ServiceCall.UPDATE_SCALE_SET, registered(name="new"))
    assert tell(lab, lab.drive(ars))[:2] == [
        "call update-scale-set id=7 name=new",
        'patch ARS {"metadata":{"annotations":{"actions.github.com/runner-scale-set-name":"new"}}}',
    ]


def test_A9_a_group_edited_there_and_back_is_asked_for_again(lab):
    ars = scene(lab, runnerGroup="gpu").ars
    service(
        lab, ServiceCall.UPDATE_SCALE_SET, registered(group="gpu"), registered(group="cpu"), registered(group="gpu")
    )
    lab.drive(ars)
    edit(lab, ars, runnerGroup="cpu")
    lab.drive(ars)
    edit(lab, ars, runnerGroup="gpu")
    lab.drive(ars)
    calls = [line for line in tell(lab, lab.done) if line.startswith("call update")]
    assert [call.rpartition("=")[2] for call in calls] == ["gpu", "cpu", "gpu"]


def test_A9_a_service_that_answers_another_group_stalls_instead_of_looping(lab):
    ars = scene(lab, runnerGroup="gpu").ars
    service(lab, ServiceCall.UPDATE_SCALE_SET, registered(group="default"))
    assert tell(lab, lab.drive(ars)) == ["call update-scale-set id=7 group=gpu"]
    assert lab.last(ars).verdict is Verdict.STALLED


def test_A10_a_name_that_is_written_nowhere_stalls(lab):
    ars = lab.scale_set(runnerScaleSetName="")
    annotate(lab, ars, **{keys.RUNNER_SCALE_SET_NAME: None})
    assert lab.drive(ars) == []
    assert (lab.last(ars).rule, lab.last(ars).verdict) == ("A10", Verdict.STALLED)


@pytest.mark.parametrize(("found", "verdict"), [(8, None), (7, Verdict.STALLED)])
def test_A9_a_scale_set_that_is_gone_when_its_group_changes_is_registered_again(lab, found, verdict):
    labels = {"actions.github.com/organization": "acme", "actions.github.com/repository": "repo"}
    ars = scene(lab, labels=labels, runnerGroup="gpu").ars
    service(lab, ServiceCall.UPDATE_SCALE_SET, Result(Outcome.NOT_FOUND), registered(group="gpu"))
    service(lab, ServiceCall.REGISTER_SCALE_SET, registered(found, group="default" if verdict else "gpu"))
    done = tell(lab, lab.drive(ars))
    assert [line.split()[1] for line in done[:2]] == ["update-scale-set", "register-scale-set"]
    assert lab.world.scale_sets[ars.uid].scale_set_id == found
    if verdict:
        assert (lab.last(ars).rule, lab.last(ars).verdict) == ("A9", verdict)
