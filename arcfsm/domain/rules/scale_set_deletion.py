"""How a deleted scale set goes: listeners, runner set, registration, then what the chart left in our care (A2)."""

from __future__ import annotations

from typing import Final

from arcfsm.domain import keys
from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.instant import format_span
from arcfsm.domain.intents import CallService, Intent, PatchObject, ReadObject, ServiceCall
from arcfsm.domain.jsonvalue import strings_at
from arcfsm.domain.kinds import Kind
from arcfsm.domain.rules.rule import Answer, Look, act, rule, wait
from arcfsm.domain.rules.scale_set_registration import answered
from arcfsm.domain.rules.wording import many
from arcfsm.domain.rules.writes import delete, drop_finalizer, patch
from arcfsm.domain.states import Dependent, ScaleSet

_DEPENDENTS: Final = (
    (Kind.ROLE_BINDING, keys.KUBERNETES_MODE_ROLE_BINDING),
    (Kind.ROLE, keys.KUBERNETES_MODE_ROLE),
    (Kind.SERVICE_ACCOUNT, keys.KUBERNETES_MODE_SERVICE_ACCOUNT),
    (Kind.SERVICE_ACCOUNT, keys.NO_PERMISSION_SERVICE_ACCOUNT),
    (Kind.SECRET, keys.GITHUB_SECRET),
    (Kind.ROLE_BINDING, keys.MANAGER_ROLE_BINDING),
    (Kind.ROLE, keys.MANAGER_ROLE),
)
"""In this order: the manager's own rights go last."""


@rule("A2", "a deleted scale set takes its listeners, its runner set and its registration along, in that order")
def tear_down(look: Look[ScaleSet]) -> Answer | None:
    """Each step waits for the one before it. What fails holds the rest back, and the finalizer stays."""
    subject = look.subject
    if not subject.deleting:
        return None
    if keys.SCALE_SET_FINALIZER not in subject.finalizers:
        return wait("A2", "deleted; what still holds it is not ours")
    return (
        _listeners(look)
        or _runner_set(look)
        or _registration(look)
        or _dependents(look)
        or act("A2", "deleted; nothing is left", drop_finalizer(look, subject, keys.SCALE_SET_FINALIZER))
    )


def _listeners(look: Look[ScaleSet]) -> Answer | None:
    """Every listener that names the scale set, whatever it is called: a former name may still be going."""
    listeners = look.world.listeners_of(look.subject.namespace, look.subject.name)
    if not listeners:
        return None
    if doomed := [listener for listener in listeners if not listener.deleting]:
        reason = f"deleted; {many(len(doomed), 'listener')} first"
        return act("A2", reason, *(delete(listener) for listener in doomed))
    return wait("A2", f"deleted; {many(len(listeners), 'listener')} must be gone first")


def _runner_set(look: Look[ScaleSet]) -> Answer | None:
    runner_sets = look.world.runner_sets_of(look.subject)
    if not runner_sets:
        return None
    if doomed := [one for one in runner_sets if not one.deleting]:
        return act("A2", "deleted; its runner set next", *(delete(one) for one in doomed))
    return wait("A2", "deleted; its runner set must be gone first")


def _registration(look: Look[ScaleSet]) -> Answer | None:
    """The annotation goes as soon as the service let go: a second pass must not need credentials that went since."""
    subject = look.subject
    if subject.scale_set_id <= 0:
        return None
    call = CallService(
        target=look.stream,
        call=ServiceCall.DELETE_SCALE_SET,
        namespace=subject.namespace,
        arguments={"id": subject.scale_set_id},
    )
    if answered(look, call, asked_after=0) is None and not _given_up(look, call):
        return act("A2", f"deleted; unregistering scale set {subject.scale_set_id}", call)
    forget = patch(look, subject, {"metadata": {"annotations": {keys.SCALE_SET_ID: None}}})
    return act("A2", f"deleted; scale set {subject.scale_set_id} is unregistered", forget)


def _given_up(look: Look[ScaleSet], call: CallService) -> bool:
    """Whether nobody can unregister it any more: its credentials went first, and not just now (H26).

    A deletion that waits for them for ever helps nobody; the service keeps a scale set without runners.
    """
    subject, attempt = look.subject, look.effects.attempt(call.key)
    if attempt is None or attempt.outcome is not Outcome.FORBIDDEN:
        return False
    patience = look.settings.registration_abandon_after
    if (subject.deletion_requested_at or 0) + patience > look.now:
        return False
    text = f"scale set {subject.scale_set_id} stays on the service: no credentials for {format_span(patience)}"
    look.find("RegistrationAbandoned", f"{text} ({attempt.detail or 'forbidden'})")
    return True


def _dependents(look: Look[ScaleSet]) -> Answer | None:
    """Release what the chart put under our protection, one after the other."""
    annotations = strings_at(look.document(look.subject.metadata), "annotations")
    for kind, annotation in _DEPENDENTS:
        name = annotations.get(annotation, "")
        if not name:
            continue
        if (step := _release(look, kind, name)) is not None:
            return act("A2", f"deleted; releasing {kind} {name}", step)
    return None


def _release(look: Look[ScaleSet], kind: Kind, name: str) -> Intent | None:
    """Return what is to be done about one dependent; None where nothing is, or nothing may be."""
    namespace = look.subject.namespace
    found = look.world.dependent(kind, namespace, name)
    if found is None:
        if look.world.advisory:
            return None
        step: Intent = ReadObject(target=look.stream, kind=kind, namespace=namespace, name=name)
        attempt = look.effects.attempt(step.key)
        if attempt is not None and attempt.outcome in (Outcome.OK, Outcome.NOT_FOUND):
            return None
    elif keys.CLEANUP_PROTECTION_FINALIZER in found.finalizers:
        step = _unprotect(look, found)
        attempt = look.effects.attempt(step.key)
        if attempt is not None and attempt.outcome is Outcome.NOT_FOUND:
            return None
    else:
        return None
    # The right to read the secret may have gone with the manager's role already.
    if kind is Kind.SECRET and attempt is not None and attempt.outcome is Outcome.FORBIDDEN:
        return None
    return step


def _unprotect(look: Look[ScaleSet], found: Dependent) -> PatchObject:
    rest = [other for other in found.finalizers if other != keys.CLEANUP_PROTECTION_FINALIZER]
    return PatchObject(
        target=look.stream,
        kind=found.kind,
        namespace=found.namespace,
        name=found.name,
        uid=found.uid,
        patch=look.intern({"metadata": {"finalizers": rest}}),
    )
