"""Holding a parked scale set still (A6): its listener stopped but current, its runner set pinned to nothing."""

from __future__ import annotations

from arcfsm.domain import phases
from arcfsm.domain.intents import Intent
from arcfsm.domain.jsonvalue import Json
from arcfsm.domain.kinds import Kind
from arcfsm.domain.pruning import LISTENER_PHASE
from arcfsm.domain.rules.rule import Answer, Look, act, hold, rule
from arcfsm.domain.rules.scale_set_desired import (
    Desired,
    create_listener,
    desired,
    listener_spec_change,
    listeners_of,
    metadata_change,
    own_listener,
    runner_set_of,
)
from arcfsm.domain.rules.writes import delete, in_steps, patch
from arcfsm.domain.states import Listener, RunnerSet, ScaleSet


@rule("A6", "a parked scale set keeps a stopped, current listener and a runner set that wants nothing")
def hold_parked(look: Look[ScaleSet]) -> Answer:
    """Edits of anything but the runners' spec keep it parked. Spec and revision of the runner set are never touched."""
    intents: list[Intent] = []
    runner_set, wanted = runner_set_of(look), desired(look)
    going = runner_set is None or runner_set.deleting
    switchable = LISTENER_PHASE not in look.world.pruned.get(Kind.LISTENER, ())
    for listener in look.once(listeners_of):
        if not switchable:
            # The installed CRD drops the switch: a listener that can't be stopped goes (H34, Z2).
            intents.extend(() if listener.deleting else (delete(listener),))
            continue
        current = wanted if listener is own_listener(look) and not going else None
        if not listener.deleting and (change := _stopped(look, listener, current)):
            intents.append(patch(look, listener, change))
    if runner_set is not None and not runner_set.deleting:
        intents.extend(_replace_renamed(look, wanted) if switchable else ())
        intents.extend(_pinned(look, runner_set, wanted))
    if intents:
        return act("A6", "parked; listener and runner set are brought to rest", *intents)
    return hold("A6", "parked: its runners were refused, a changed runner spec lets it go on")


def _stopped(look: Look[ScaleSet], listener: Listener, wanted: Desired | None) -> dict[str, Json]:
    """What stops a listener and, where one is wanted, keeps it as it should be when it is started again."""
    spec: dict[str, Json] = {}
    change: dict[str, Json] = {}
    if wanted is not None:
        spec = listener_spec_change(look, listener, wanted)
        if metadata := metadata_change(look, listener.metadata, wanted, Kind.LISTENER):
            change["metadata"] = metadata
    if spec or change or not listener.stopped:
        change["spec"] = {**spec, "phase": phases.STOPPED}
    return change


def _replace_renamed(look: Look[ScaleSet], wanted: Desired | None) -> tuple[Intent, ...]:
    """Listeners of former names go, after one of the current name is there. Where none is, none is made."""
    own = own_listener(look)
    listeners = look.once(listeners_of)
    renamed = tuple(delete(one) for one in listeners if one is not own and not one.deleting)
    if own is not None or not listeners:
        return renamed
    if wanted is None:
        return ()
    return in_steps(look, (create_listener(look, wanted, stopped=True),), renamed)


def _pinned(look: Look[ScaleSet], runner_set: RunnerSet, wanted: Desired | None) -> tuple[Intent, ...]:
    """The listener may have written a wish in the moment it was stopped."""
    metadata = metadata_change(look, runner_set.metadata, wanted, Kind.RUNNER_SET) if wanted is not None else {}
    if not (runner_set.replicas or runner_set.patch_id or metadata):
        return ()
    body: dict[str, Json] = {"spec": {"replicas": 0, "patchID": 0}}
    if metadata:
        body["metadata"] = metadata
    return (patch(look, runner_set, body),)
