"""Whatever state a runner or a listener is in: rules answer, say the same again, come to rest, and break no promise."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arcfsm.domain import keys, phases
from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.events.runner import RunnerPodGone
from arcfsm.domain.facts import ContainerFacts, PodFailure
from arcfsm.domain.instant import HOUR, MINUTE, SECOND
from arcfsm.domain.intents import CallService, CreateObject, DeleteObject, RegisterRunner, ServiceCall, removal_key
from arcfsm.domain.kinds import Kind
from tests.unit.rules.harness import Lab, Result
from tests.unit.rules.listeners import adopted, end, up

BOTH = (keys.RUNNER_FINALIZER, keys.REGISTRATION_FINALIZER)
quick = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))

containers = st.one_of(
    st.none(),
    st.sampled_from(["waiting", "running"]).map(lambda state: ContainerFacts(state=state)),
    st.sampled_from([0, 1, 7, 137]).map(lambda code: ContainerFacts(state="terminated", exit_code=code)),
)
pods = st.fixed_dictionaries(
    {
        "phase": st.sampled_from(["", "Pending", "Running", "Succeeded", "Failed"]),
        "container": containers,
        "ready": st.booleans(),
        "terminated": st.booleans(),
        "init_exit_code": st.sampled_from([None, None, 1]),
        "reason": st.sampled_from(["", "Evicted"]),
    }
)
runners = st.fixed_dictionaries(
    {
        "phase": st.sampled_from(phases.RUNNER_PHASES),
        "id": st.sampled_from([0, 11]),
        "job": st.booleans(),
        "deleting": st.booleans(),
        "finalizers": st.sampled_from([BOTH, BOTH[:1], BOTH[1:], (), (*BOTH, "foreign")]),
        "ready": st.booleans(),
    }
)
outcomes = st.sampled_from(list(Outcome))


def build(lab, facts, pod, failures, *, secret, pod_gone):
    known = lab.pod(pod["phase"], **{key: value for key, value in pod.items() if key != "phase"}) if pod else None
    failed = [PodFailure(f"old-{number}", lab.now - number * SECOND) for number in range(failures)]
    runner = lab.runner("a", pod=known, failures=failed, **facts)
    if secret:
        lab.dependent(Kind.SECRET, "a", stream=runner)
    if known is not None and pod_gone:
        lab.fold(runner, RunnerPodGone(pod_uid=known.uid))
    return runner


@quick
@given(runners, st.none() | pods, st.integers(0, 6), st.booleans(), st.booleans(), st.booleans())
def test_a_runner_is_told_the_same_until_something_happens(facts, pod, failures, secret, pod_gone, advisory):
    lab = Lab(advisory=advisory)
    runner = build(lab, facts, pod, failures, secret=secret, pod_gone=pod_gone)
    first = lab.look(runner)
    assert first is not None, "nothing is left without an answer"
    assert first.reason
    if advisory or not first.intents:
        assert lab.look(runner) is None
    if advisory and first.wake_at is None:
        lab.later(100 * HOUR)
        again = lab.look(runner)
        assert again is None or again.rule == first.rule, "time alone changes nothing that was not announced"


@quick
@given(
    runners,
    st.none() | pods,
    st.integers(0, 6),
    st.booleans(),
    st.booleans(),
    st.lists(outcomes, min_size=1, max_size=6),
    st.sampled_from([7, 8]),
)
def test_a_runner_comes_to_rest_and_loses_no_registration(facts, pod, failures, secret, pod_gone, ends, scale_set):
    lab = Lab()
    runner = build(lab, facts, pod, failures, secret=secret, pod_gone=pod_gone)
    answers = {
        ServiceCall.FIND_RUNNER: {"runner_id": 21, "scale_set_id": scale_set},
        ServiceCall.RECALL_REGISTRATION: {"runner_id": 12},
    }
    told = iter([*ends, *[Outcome.OK] * 1000])

    def answer(intent):
        if isinstance(intent, CallService):
            return Result(next(told), answer=answers.get(intent.call, {}))
        if isinstance(intent, RegisterRunner):
            return Result(next(told), answer={"runner_id": 22})
        return Result(next(told)) if isinstance(intent, CreateObject) else Result()

    lab.script(lambda _: True, answer)
    for _ in range(12):
        before = lab.world.runners.get(runner.uid)
        for intent in lab.drive(runner):
            if isinstance(intent, DeleteObject) and intent.kind is Kind.POD and before is not None:
                assert allowed(lab, runner, before), "a live pod went although nobody asked the service"
        lab.later(MINUTE)


def allowed(lab, stream, before):
    """H29: a live pod of a deleted runner that may be registered goes only after the service let it go."""
    pod, was_over = before.pod, before.done
    if not before.deleting or was_over or pod is None or pod.terminated or not before.has_registration_finalizer:
        return True
    settled = [
        one.event.outcome
        for one in lab.events
        if type(one.event).__name__ == "IntentSettled" and one.event.key.startswith(removal_key(0)[:-1])
    ]
    found = [one for one in lab.done if isinstance(one, CallService) and one.call is ServiceCall.FIND_RUNNER]
    return bool(set(settled) & {Outcome.OK, Outcome.NOT_FOUND}) or bool(found)


@quick
@given(
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, 0, 1, 7]),
    st.sampled_from(["Running", "Failed", "Succeeded"]),
    st.sampled_from(["", "Evicted", "OutOfcpu"]),
)
def test_a_listener_comes_to_rest(advisory, ours, code, phase, reason):
    lab = Lab(advisory=advisory)
    _, _, al = up(lab) if ours and not advisory else adopted(lab)
    if code is not None:
        end(lab, al, code, phase=phase, reason=reason)
    if advisory:
        assert lab.look(al) is not None
        assert lab.look(al) is None
        return
    for _ in range(6):
        lab.drive(al)
        lab.later(10 * MINUTE)
    assert lab.world.listeners[al.uid].pod is not None, "a listener always gets a pod again"
