"""M10 and M12: what is derived from the fold for the service around it."""

from __future__ import annotations

from arcfsm.domain import keys
from arcfsm.domain.client_identity import client_identity
from arcfsm.domain.events.scale_set import ScaleSetSpecChanged
from arcfsm.domain.gauges import FAILED_RUNNERS, PENDING_RUNNERS, RUNNING_LISTENERS, RUNNING_RUNNERS, gauges
from arcfsm.domain.kinds import Kind
from tests.unit.rules.harness import NAMESPACE, Lab


def counted(lab):
    return {(gauge.name, gauge.labels[0]): gauge.value for gauge in gauges(lab.world)}


def test_M12_runners_are_counted_by_phase_and_those_leaving_are_not():
    lab = Lab()
    ers = lab.runner_set(labels={keys.SCALE_SET_NAME: "demo", keys.ORGANIZATION: "acme"})
    for name, phase in (("a", ""), ("b", "Pending"), ("c", "Running"), ("d", "Failed"), ("e", "Succeeded")):
        lab.runner(name, phase, of=ers)
    lab.runner("f", "Running", of=ers, deleting=True)
    assert counted(lab) == {(PENDING_RUNNERS, "demo"): 2, (RUNNING_RUNNERS, "demo"): 1, (FAILED_RUNNERS, "demo"): 1}
    assert next(iter(gauges(lab.world))).labels == ("demo", NAMESPACE, "", "acme", "")


def test_M12_a_listener_is_running_while_its_container_runs():
    lab = Lab()
    lab.listener(name="up", pod=lab.pod(running=True))
    lab.listener(name="down", pod=lab.pod("Failed", exit=1))
    assert counted(lab) == {(RUNNING_LISTENERS, "up"): 1, (RUNNING_LISTENERS, "down"): 0}


def test_M10_a_client_is_shared_until_anything_it_rests_on_changes():
    lab = Lab()
    one, other = lab.scale_set(), lab.scale_set(name="other")
    lab.dependent(Kind.SECRET, "cred")
    identity = client_identity(lab.world, lab.world.scale_sets[one.uid])
    assert client_identity(lab.world, lab.world.scale_sets[other.uid]) == identity

    def changed(**spec):
        body = {**lab.world.documents.mapping(lab.world.scale_sets[one.uid].spec), **spec}
        lab.fold(one, ScaleSetSpecChanged(spec=lab.doc(body), generation=2))
        return client_identity(lab.world, lab.world.scale_sets[one.uid])

    proxied = changed(proxy={"http": {"url": "http://a:1"}})
    assert proxied != identity
    assert changed(proxy={"http": {"url": "http://b:1"}}) != proxied, "the content counts, not only its presence"
    lab.dependent(Kind.SECRET, "cred")
    assert client_identity(lab.world, lab.world.scale_sets[other.uid]) != identity, "rotated credentials"
