"""The pod of a runner: how it is made, and what is concluded from how it fares (R12, R16, R17)."""

from __future__ import annotations

from typing import Final

from arcfsm.domain import keys, phases
from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.facts import ContainerFacts, PodFacts
from arcfsm.domain.instant import SECOND, Instant, Span, format_instant, format_span
from arcfsm.domain.intents import CreateObject
from arcfsm.domain.jsonvalue import Json, digest
from arcfsm.domain.rules.answers import answer_to
from arcfsm.domain.rules.pod_deletion import delete_pod, read_pod, stuck_from
from arcfsm.domain.rules.rule import Answer, Look, act, rule, settled, wait
from arcfsm.domain.rules.runner_buckets import recorded_id
from arcfsm.domain.rules.runner_objects import pod_creation
from arcfsm.domain.rules.runner_registration import removal
from arcfsm.domain.rules.wording import many
from arcfsm.domain.rules.writes import delete, patch_status
from arcfsm.domain.states import Attempt, Runner

RESTARTS: Final[tuple[Span, ...]] = tuple(seconds * SECOND for seconds in (0, 5, 10, 20, 40, 80))
"""Wait before the next pod, by how many failed."""
CREATE_AGAIN: Final[Span] = 5 * SECOND
QUOTA: Final = "exceeded quota:"
_JITTER_MILLE: Final = 200


@rule("R12", "each of five failed pods buys another one, after ever longer waits; the sixth is the last")
def keep_to_budget(look: Look[Runner]) -> Answer | None:
    """Failures are counted by pod, so telling of one twice costs nothing."""
    runner = look.subject
    failures = runner.known_failures
    failed = len(failures)
    if not failed:
        return None
    if failed >= len(RESTARTS):
        return act("R12", f"{many(failed, 'pod')} failed; giving up", delete(runner))
    again = max(failure.at for failure in failures) + RESTARTS[failed]
    if runner.pod is not None or again <= look.now:
        return None
    return wait("R12", f"{many(failed, 'pod')} failed; the next one comes at {format_instant(again)}", again)


@rule("R16", "a missing pod is created; what the API server answers decides what becomes of the runner")
def make_pod(look: Look[Runner]) -> Answer | None:
    """Quotas pass and are waited for; what is invalid or forbidden fails the runner for good."""
    runner = look.subject
    if runner.pod is not None:
        return None
    if runner.has_job:
        return _job_without_pod(look)
    if runner.pod_cut_off and not look.world.advisory:
        text = f"the pod of runner {runner.name} vanished while the runner was registered and running"
        look.find("RunnerPodLost", text)
        return act("R-deletePodOrRunner", "its pod vanished while it ran; another runner is made", delete(runner))
    create = pod_creation(look)
    made = look.effects.attempt(create.key)
    if made is None:
        return _create(create, "and it is not registered; both follow" if look.carried else "creating it")
    if made.outcome is Outcome.INVALID or (made.outcome is Outcome.FORBIDDEN and QUOTA not in made.detail):
        return fail(look, made)
    if made.outcome is Outcome.FORBIDDEN:
        return _over_quota(look, create, made)
    if (again := _create_again(runner, made)) is not None and again > look.now:
        return wait("R16", f"{_found(made)}; looking again in a moment", again)
    return _create(create)


@rule("R-fail", "a pod that can't be created fails its runner: it holds its slot and waits for a person")
def fail(look: Look[Runner], made: Attempt) -> Answer:
    """Other runners of the same template would fare no better."""
    message = f"Failed to create the pod: {made.detail}"
    status = patch_status(look, look.subject, phase=phases.FAILED, reason=keys.REASON_INVALID_POD, message=message)
    return act("R-fail", f"the API server refuses its pod: {made.detail}", status)


@rule("R17", "the runner container alone decides what a pod means; the first row that fits counts")
def judge_pod(look: Look[Runner]) -> Answer | None:
    """A sidecar that still runs delays nothing, and the pod's phase Succeeded is never consulted."""
    pod = look.subject.pod
    if pod is None:
        return None
    container = pod.container
    ended = container is not None and container.state == "terminated"
    exit_code = (container.exit_code or 0) if container is not None else 0
    if pod.phase == phases.FAILED and not ended:
        return give_up_pod(look, pod, f"its pod failed{f' ({pod.reason})' if pod.reason else ''}")
    if pod.init_exit_code is not None and not (ended and pod.phase == phases.FAILED):
        return give_up_pod(look, pod, f"an init container ended with exit code {pod.init_exit_code}")
    if container is None:
        return wait("R17", "its pod has not started yet")
    if not ended:
        return observe(look, pod, container)
    if exit_code == 0:
        return succeed(look, pod)
    if exit_code == keys.OUTDATED_EXIT_CODE:
        return refuse(look)
    return give_up_pod(look, pod, f"the runner ended with exit code {exit_code}")


@rule("R-observe", "the status tells whether the pod is ready; it never says Running and never undoes it")
def observe(look: Look[Runner], pod: PodFacts, container: ContainerFacts) -> Answer:
    """Locked to the version we know: the listener may be writing Running at the same time."""
    runner = look.subject
    over = pod.phase in phases.POD_DONE_PHASES
    if not over and (runner.phase == phases.NONE or runner.ready != pod.ready):
        fields = _from_pod(runner, pod, ready=pod.ready)
        if runner.phase == phases.NONE:
            fields = {"phase": phases.PENDING, **fields}
        state = "ready" if pod.ready else "not ready"
        return act("R-observe", f"recording that its pod is {state}", patch_status(look, runner, locked=True, **fields))
    if look.settings.completed_runner_grace and runner.job_since is not None:
        return _outlived(look)
    if (stuck := stuck_from(look, pod)) is not None:
        return _wait_for_end(look, stuck)
    if container.state == "waiting" and container.reason in keys.REASONS_NOT_STARTING:
        return _wait_for_image(look, pod, container)
    if container.state != "running":
        return wait("R17", "its runner container has not started yet")
    return settled("R17", "it works at its job" if runner.has_job else "it waits for a job")


def _wait_for_end(look: Look[Runner], stuck: Instant) -> Answer:
    """Its node may be dead: the pod's end is never reported then, and the slot would be held for ever (A48)."""
    if look.world.advisory or stuck > look.now:
        return wait("R17", "its pod is being deleted", None if look.world.advisory else stuck)
    runner = look.subject
    long = format_span(look.settings.stuck_pod_after)
    look.find("PodStuck", f"the pod of runner {runner.name} should have ended {long} ago; its node may be dead")
    return act("R17", f"its pod should have ended {long} ago; another runner takes its place", delete(runner))


def _wait_for_image(look: Look[Runner], pod: PodFacts, container: ContainerFacts) -> Answer:
    """What keeps it from starting may pass, an outage of the registry say; not for ever (A39)."""
    runner, reason = look.subject, container.reason
    ends = pod.created_at + look.settings.pod_start_deadline
    if look.world.advisory or ends > look.now:
        told = None if look.world.advisory else ends
        return wait("R17", f"its runner container can't start: {reason}", told)
    message = f"The runner container did not start within {format_span(look.settings.pod_start_deadline)}: {reason}"
    status = patch_status(look, runner, phase=phases.FAILED, reason=reason, message=message)
    return act("R-fail", f"its runner container can't start: {reason}; giving up", status)


@rule("R-succeed", "exit code 0: its job is over; it is deleted in the same pass")
def succeed(look: Look[Runner], pod: PodFacts) -> Answer:
    """The agent deregistered itself."""
    runner = look.subject
    status = patch_status(look, runner, locked=False, phase=phases.SUCCEEDED, **_from_pod(runner, pod, ready=False))
    return act("R-succeed", "the runner ended with exit code 0", status, delete(runner))


@rule("R-outdated", "exit code 7: the service refuses the runner's version; its set is told by the phase")
def refuse(look: Look[Runner]) -> Answer:
    """The release of its registration follows (R8)."""
    status = patch_status(
        look, look.subject, phase=phases.OUTDATED, reason=keys.REASON_OUTDATED, message=keys.MESSAGE_OUTDATED
    )
    return act("R-outdated", "the runner ended with exit code 7: the service refuses its version", status)


@rule("R-deletePodOrRunner", "a failed pod is replaced, unless its runner took a job: that one is never started again")
def give_up_pod(look: Look[Runner], pod: PodFacts, why: str) -> Answer:
    """The pod goes first: a failure that is on record already would else keep it from going."""
    runner = look.subject
    if runner.has_job:
        return act("R-deletePodOrRunner", f"{why}; it took a job and is not started again", delete(runner))
    intents = delete_pod(look, pod)
    if all(failure.pod_uid != pod.uid for failure in runner.failures):
        # When it was first heard of, not when we look: the same failure reads the same at every look.
        seen_at = runner.pod_heard_at // SECOND * SECOND
        fields = _from_pod(runner, pod, ready=False)
        fields = {"failures": {pod.uid: format_instant(seen_at)}, **fields}
        intents = (*intents, patch_status(look, runner, locked=False, **fields))
    if not intents:
        return wait("R-deletePodOrRunner", f"{why}; its pod is being deleted")
    return act("R-deletePodOrRunner", f"{why}; replacing the pod", *intents)


def _create(create: CreateObject, then: str = "creating it") -> Answer:
    return act("R16", f"it has no pod; {then}", create)


def _create_again(runner: Runner, made: Attempt) -> Instant | None:
    """Return when to try again although the API server answered; None where it may be at once."""
    if made.outcome in (Outcome.ALREADY_EXISTS, Outcome.NOT_FOUND):
        return made.at + CREATE_AGAIN
    seen_since = runner.pod_gone_at is not None and runner.pod_gone_at >= made.at
    return made.at + CREATE_AGAIN if made.outcome is Outcome.OK and not seen_since else None


def _found(made: Attempt) -> str:
    if made.outcome is Outcome.ALREADY_EXISTS:
        return "another pod has its name"
    return "its pod was created and is not to be seen" if made.outcome is Outcome.OK else "its namespace is gone"


def _over_quota(look: Look[Runner], create: CreateObject, made: Attempt) -> Answer:
    """Runners refused by the same quota don't all come back at the same moment (H40)."""
    runner, settings = look.subject, look.settings
    if runner.created_at + settings.quota_give_up_after <= look.now:
        age = format_span(settings.quota_give_up_after)
        return act("R16", f"a quota keeps it from a pod, and it is over {age} old; giving up", delete(runner))
    again = made.at + settings.quota_retry * (1000 + _jitter(runner.uid)) // 1000
    if again > look.now:
        return wait("R16", f"a quota keeps it from a pod; trying again at {format_instant(again)}", again)
    return act("R16", "a quota kept it from a pod; trying again", create)


def _jitter(uid: str) -> int:
    """Return -200 … 200 mille, always the same for one runner."""
    return int(digest(uid)[:8], 16) % (2 * _JITTER_MILLE + 1) - _JITTER_MILLE


def _job_without_pod(look: Look[Runner]) -> Answer:
    """Its registration is used up: another pod could never take a job and would hold a slot for ever."""
    runner = look.subject
    if runner.pod_gone_at is None:
        if look.world.advisory:
            return wait("R16", "it has a job, and its pod was not seen yet")
        question = read_pod(look)
        seen = answer_to(look.effects, question)
        if seen is None:
            return act("R16", "it has a job, and its pod was not seen yet; asking the API server", question)
        if seen.outcome is Outcome.OK and (again := seen.at + CREATE_AGAIN) > look.now:
            return wait("R16", "it has a job, and its pod is about to be seen", again)
        if seen.outcome is Outcome.OK:
            return act("R16", "it has a job, and its pod is not seen; asking the API server", question)
    look.find("JobLost", f"runner {runner.name} lost its pod while it had job {runner.job.job_id}")
    return act("R-deletePodOrRunner", "it took a job and lost its pod; it is not started again", delete(runner))


def _outlived(look: Look[Runner]) -> Answer:
    """H37, where configured: nobody tells that a job is over, but the service lets go of runners without one.

    Whom it lets go the set deletes (S-remove).
    """
    runner, grace = look.subject, look.settings.completed_runner_grace
    known = recorded_id(look.effects, runner)
    if known <= 0 or runner.job_since is None:
        return settled("R17", "it works at its job")
    question = removal(look, known)
    asked = look.effects.attempt(question.key)
    again = (runner.job_since if asked is None or asked.outcome is not Outcome.BUSY else asked.at) + grace
    if again > look.now:
        return wait("R17", f"it works at its job; asking every {format_span(grace)} whether it still has one", again)
    return act("R17", "asking the service whether it still has a job (H37)", question)


def _from_pod(runner: Runner, pod: PodFacts, *, ready: bool) -> dict[str, Json]:
    """Return what the status says of the pod, as far as it says something else now."""
    fields: dict[str, Json] = {}
    if runner.ready != ready:
        fields["ready"] = ready
    if runner.reason != pod.reason:
        fields["reason"] = pod.reason
    if runner.message != pod.message:
        fields["message"] = pod.message
    return fields
