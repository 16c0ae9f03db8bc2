"""How a deleted scale set goes (T057–T065; H26)."""

from __future__ import annotations

import pytest

from arcfsm.domain import keys
from arcfsm.domain.events.decision import Outcome, Verdict
from arcfsm.domain.events.listener import ListenerGone
from arcfsm.domain.events.runner_set import RunnerSetGone
from arcfsm.domain.instant import SECOND
from arcfsm.domain.intents import ReadObject, ServiceCall
from arcfsm.domain.kinds import Kind
from tests.unit.rules.harness import LISTENER, Lab, Result
from tests.unit.rules.scenes import scene, service
from tests.unit.rules.telling import tell

ERROR = Result(Outcome.FAILED, status=500, detail="500 Internal Server Error")
FORBIDDEN = Result(Outcome.FORBIDDEN, status=403, detail="forbidden")
FORGET = 'patch ARS {"metadata":{"annotations":{"runner-scale-set-id":null}}}'
RELEASE = 'patch ARS {"metadata":{"finalizers":[]}}'
DEPENDENTS = {
    keys.MANAGER_ROLE: ("Role", "manager-role"),
    keys.MANAGER_ROLE_BINDING: ("RoleBinding", "manager-binding"),
    keys.GITHUB_SECRET: ("Secret", "github"),
    keys.NO_PERMISSION_SERVICE_ACCOUNT: ("ServiceAccount", "no-permission"),
    keys.KUBERNETES_MODE_SERVICE_ACCOUNT: ("ServiceAccount", "kube-mode"),
    keys.KUBERNETES_MODE_ROLE: ("Role", "kube-mode-role"),
    keys.KUBERNETES_MODE_ROLE_BINDING: ("RoleBinding", "kube-mode-binding"),
}
IN_ORDER = [
    "patch RoleBinding kube-mode-binding",
    "patch Role kube-mode-role",
    "patch ServiceAccount kube-mode",
    "patch ServiceAccount no-permission",
    "patch Secret github",
    "patch RoleBinding manager-binding",
    "patch Role manager-role",
]


@pytest.fixture
def lab():
    return Lab()


def protected(lab, *, known=True):
    """The annotations of a chart, and the objects they name."""
    if known:
        for kind, name in DEPENDENTS.values():
            lab.dependent(Kind(kind), name, finalizers=("foreign", keys.CLEANUP_PROTECTION_FINALIZER))
    return {annotation: name for annotation, (_, name) in DEPENDENTS.items()}


def without_bodies(lines):
    return [line.partition(" {")[0] for line in lines]


def test_T057_listeners_go_first(lab):
    ars = scene(lab, deleting=True).ars
    assert tell(lab, lab.drive(ars)) == [f"delete AL {LISTENER}"]
    assert lab.last(ars).verdict is Verdict.WAIT


def test_T058_then_the_runner_set(lab):
    ars = scene(lab, deleting=True, without="al").ars
    assert tell(lab, lab.drive(ars)) == ["delete ERS demo"]
    assert lab.last(ars).verdict is Verdict.WAIT


def test_T059_then_the_registration_the_dependents_and_the_finalizer(lab):
    ars = scene(lab, deleting=True, without="ers al", annotations=protected(lab)).ars
    done = tell(lab, lab.drive(ars))
    assert done[:2] == ["call delete-scale-set id=7", FORGET]
    assert without_bodies(done[2:-1]) == IN_ORDER
    assert done[2].endswith('{"metadata":{"finalizers":["foreign"]}}')
    assert done[-1] == RELEASE
    assert ars.uid not in lab.world.scale_sets


def test_T060_a_scale_set_the_service_does_not_know_is_unregistered(lab):
    ars = scene(lab, deleting=True, without="ers al").ars
    service(lab, ServiceCall.DELETE_SCALE_SET, Result(Outcome.NOT_FOUND))
    assert tell(lab, lab.drive(ars)) == ["call delete-scale-set id=7", FORGET, RELEASE]


def test_T061_an_error_of_the_service_keeps_the_finalizer(lab):
    ars = scene(lab, deleting=True, without="ers al").ars
    service(lab, ServiceCall.DELETE_SCALE_SET, ERROR, Result())
    assert tell(lab, lab.drive(ars)) == ["call delete-scale-set id=7"]
    assert lab.last(ars).verdict is Verdict.WAIT
    assert "500 Internal Server Error" in lab.last(ars).reason
    lab.later(SECOND)
    assert tell(lab, lab.drive(ars)) == ["call delete-scale-set id=7", FORGET, RELEASE]


@pytest.mark.parametrize("id", ["x", None])
def test_T062_without_a_usable_id_the_service_is_not_called(lab, id):
    ars = scene(lab, deleting=True, without="ers al", id=id, annotations=protected(lab)).ars
    done = tell(lab, lab.drive(ars))
    assert without_bodies(done) == [*IN_ORDER, "patch ARS"]


@pytest.mark.parametrize("outcome", [FORBIDDEN, Result(Outcome.NOT_FOUND)])
def test_T063_a_secret_that_may_not_be_touched_any_more_is_passed_over(lab, outcome):
    ars = scene(lab, deleting=True, without="ers al", annotations=protected(lab)).ars
    lab.script("patch Secret", outcome)
    done = without_bodies(tell(lab, lab.drive(ars)))
    assert done[2:] == [*IN_ORDER, "patch ARS"]


def test_T063_nor_one_that_may_not_even_be_read(lab):
    ars = scene(lab, deleting=True, without="ers al", id=None, annotations=protected(lab, known=False)).ars
    lab.script("read Secret", FORBIDDEN)
    lab.script(ReadObject, Result(Outcome.NOT_FOUND))
    done = tell(lab, lab.drive(ars))
    assert done == [
        "read RoleBinding arc-runners/kube-mode-binding",
        "read Role arc-runners/kube-mode-role",
        "read ServiceAccount arc-runners/kube-mode",
        "read ServiceAccount arc-runners/no-permission",
        "read Secret arc-runners/github",
        "read RoleBinding arc-runners/manager-binding",
        "read Role arc-runners/manager-role",
        RELEASE,
    ]


def test_T063_another_object_that_may_not_be_read_holds_the_rest_back(lab):
    ars = scene(lab, deleting=True, without="ers al", id=None, annotations=protected(lab, known=False)).ars
    lab.script(ReadObject, FORBIDDEN)
    assert tell(lab, lab.drive(ars)) == ["read RoleBinding arc-runners/kube-mode-binding"]
    assert lab.world.scale_sets[ars.uid].finalizers


def test_T064_a_failing_step_stops_the_chain_there(lab):
    ars = scene(lab, deleting=True, without="ers al", annotations=protected(lab)).ars
    lab.script("patch Role arc-runners/kube-mode-role", ERROR)
    done = without_bodies(tell(lab, lab.drive(ars)))
    assert done[2:] == IN_ORDER[:2]
    assert lab.world.scale_sets[ars.uid].finalizers
    assert lab.last(ars).verdict is Verdict.WAIT


def test_T065_a_listener_of_a_former_name_counts(lab):
    ars, ers, _ = scene(lab, deleting=True, without="al")
    old = lab.listener(name="demo-old-listener", deleting=True)
    assert lab.drive(ars) == []
    assert lab.last(ars).reason == "deleted; 1 listener must be gone first"
    lab.fold(old, ListenerGone())
    assert tell(lab, lab.drive(ars)) == ["delete ERS demo"]
    lab.fold(ers, RunnerSetGone())
    assert tell(lab, lab.drive(ars))[-1] == RELEASE


def test_A2_what_is_not_ours_is_left_alone(lab):
    ars = scene(lab, deleting=True, finalizer=False).ars
    assert lab.drive(ars) == []


def test_A2_in_advice_unknown_dependents_count_as_missing():
    lab = Lab(advisory=True)
    annotations = protected(lab, known=False)
    ars = scene(lab, deleting=True, without="ers al", id=None, annotations=annotations).ars
    assert tell(lab, lab.look(ars).intents) == [RELEASE]
