"""Calls to the Actions service, and what rules may know of the answers: ids and names (X3)."""

from __future__ import annotations

from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.exchange import FailureKind, ScaleSetReference, ServiceFailure
from arcfsm.domain.intents import CallService, ServiceCall
from arcfsm.engine.effects.access import Accesses
from arcfsm.engine.effects.outcomes import Result, of_failure
from arcfsm.engine.effects.registration import recall
from arcfsm.engine.effects.surroundings import Surroundings
from arcfsm.engine.ports import ActionsService


async def call_service(near: Surroundings, accesses: Accesses, intent: CallService) -> Result:
    """Make one call."""
    if intent.call is ServiceCall.RECALL_REGISTRATION:
        return await recall(near, intent.namespace, _text(intent, "name"))
    try:
        service = await accesses.service_for(intent.target, scale_set_id=_number(intent, "id"))
        return await _call(service, intent)
    except ServiceFailure as failure:
        if failure.kind is FailureKind.UNAUTHORIZED:
            accesses.forget(intent.target)
        return of_failure(failure, near.concealment.clean)


async def _call(service: ActionsService, intent: CallService) -> Result:
    match intent.call:
        case ServiceCall.REGISTER_SCALE_SET:
            return _scale_set(await _find_or_create(service, intent))
        case ServiceCall.GET_SCALE_SET:
            return _scale_set(await service.get_scale_set(_number(intent, "id")))
        case ServiceCall.UPDATE_SCALE_SET:
            name, group = _text(intent, "name"), _text(intent, "group")
            return _scale_set(await service.update_scale_set(_number(intent, "id"), name=name, group=group))
        case ServiceCall.DELETE_SCALE_SET:
            await service.delete_scale_set(_number(intent, "id"))
        case ServiceCall.REMOVE_RUNNER:
            await service.remove_runner(_number(intent, "runner_id"))
        case ServiceCall.FIND_RUNNER:
            found = await service.find_runner(_text(intent, "name"))
            if found is None:
                return Result(Outcome.NOT_FOUND, detail="the service knows no runner of that name")
            return Result(Outcome.OK, 200, answer={"runner_id": found.id, "scale_set_id": found.scale_set_id})
        case ServiceCall.RECALL_REGISTRATION:
            raise AssertionError("a Secret is read from the API server, not from the service")
    return Result(Outcome.OK, 204)


async def _find_or_create(service: ActionsService, intent: CallService) -> ScaleSetReference:
    """Find the scale set by group and name, else create it; asked twice it is found the second time (A8)."""
    name, group = _text(intent, "name"), _text(intent, "group")
    found = await service.find_scale_set(name, group)
    if found is not None:
        return found
    listed = intent.arguments.get("labels", ())
    labels = tuple(label for label in listed if label != name) if isinstance(listed, tuple) else ()
    try:
        return await service.create_scale_set(name, group, labels)
    except ServiceFailure as failure:
        # A name that is taken now was created by the try before, whose answer was lost.
        found = await service.find_scale_set(name, group) if failure.kind is FailureKind.CONFLICT else None
        if found is None:
            raise
        return found


def _scale_set(found: ScaleSetReference) -> Result:
    return Result(Outcome.OK, 200, answer={"id": found.id, "name": found.name, "group": found.group})


def _text(intent: CallService, name: str) -> str:
    found = intent.arguments.get(name, "")
    return found if isinstance(found, str) else ""


def _number(intent: CallService, name: str) -> int:
    found = intent.arguments.get(name, 0)
    return found if isinstance(found, int) else 0
