"""What an installed CRD that is too old makes of a write: fields it does not declare vanish without a word (H34).

Helm never upgrades CRDs, so this is what an upgrade of the controller alone meets. The effect compares the object that
the API returned with what it wrote and answers the fields that are missing (`PRUNED`). Fields of ours that the rules
depend on are then kept in the fold as if they had been taken: the journal stands in for the API.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeVar

from msgspec.structs import replace

from arcfsm.domain.events.domain_event import DomainEvent
from arcfsm.domain.events.runner_set import (
    FinishedRunnersMarked,
    RevisionApplied,
    RunnerSetPhaseChanged,
    RunnerSpecPublished,
)
from arcfsm.domain.events.scale_set import ScaleSetGenerationObserved, ScaleSetPhaseChanged
from arcfsm.domain.jsonvalue import Json, JsonObject, integer_at, object_at, text_at
from arcfsm.domain.kinds import KIND_OF, Kind
from arcfsm.domain.states import Listener, Runner, RunnerSet, ScaleSet

S = TypeVar("S", ScaleSet, RunnerSet, Runner, Listener)

PRUNED: Final = "pruned"
"""Name under which an outcome answers the missing fields, joined by commas."""
LISTENER_PHASE: Final = "spec.phase"
"""Nothing stands in for this one: the listener process does not read our journal."""

PHASE: Final = "status.phase"
OBSERVED: Final = "status.observedGeneration"
REVISION: Final = "spec.actionableRevision"
APPLIED: Final = "status.appliedActionableRevision"
MARKER: Final = "status.finishedRunnerCleanupPatchID"
_KEPT_AS: Final[Mapping[type, Mapping[str, str]]] = {
    ScaleSet: {PHASE: "phase", OBSERVED: "observed_generation"},
    RunnerSet: {
        PHASE: "phase",
        REVISION: "actionable_revision",
        APPLIED: "applied_revision",
        MARKER: "finished_marker",
    },
}
_AGGREGATES: Final = frozenset(KIND_OF.values())


def pruned_fields(written: JsonObject, returned: JsonObject) -> tuple[str, ...]:
    """Return the fields that were written and are not there. What is empty may be left out by anybody."""
    return tuple(sorted(field for field in _said(written) if _lacks(returned, field)))


def kind_written(key: str) -> Kind | None:
    """Return the kind of our group that a create or patch is about, by the key of its intent."""
    verb, _, rest = key.partition(" ")
    name = rest.partition(" ")[0].partition("/")[0]
    if verb not in ("create", "patch") or name not in _AGGREGATES:
        return None
    return Kind(name)


def still_pruned(before: frozenset[str], body: JsonObject, told: object) -> frozenset[str]:
    """Return which fields a kind's CRD is known to drop after one more write of it: one that came back is kept now."""
    dropped = frozenset(told.split(",")) if isinstance(told, str) and told else frozenset()
    return (before - _said(body)) | dropped


def stand_ins(state: object, body: JsonObject, dropped: frozenset[str]) -> Iterator[DomainEvent]:
    """Yield what the dropped fields of a write would have told, had they been kept."""
    if isinstance(state, RunnerSet):
        for field in sorted(dropped & _fields(body)):
            if field == APPLIED:
                yield RevisionApplied(applied_revision=integer_at(body, *field.split(".")))
            elif field == MARKER:
                marker = integer_at(body, *field.split("."))
                yield FinishedRunnersMarked(finished_marker=marker, incarnation=state.incarnation)
            elif field == REVISION:
                revision = integer_at(body, *field.split("."))
                yield RunnerSpecPublished(runner_spec=state.runner_spec, actionable_revision=revision)
            elif field == PHASE:
                yield RunnerSetPhaseChanged(phase=text_at(body, *field.split(".")))
    elif isinstance(state, ScaleSet):
        for field in sorted(dropped & _fields(body)):
            if field == PHASE:
                yield ScaleSetPhaseChanged(phase=text_at(body, *field.split(".")))
            elif field == OBSERVED:
                yield ScaleSetGenerationObserved(observed_generation=integer_at(body, *field.split(".")))


def keep_dropped(known: S, seen: S, obj: JsonObject, dropped: frozenset[str]) -> S:
    """Return what was seen, but for fields that the API drops: of those we know better."""
    kept = {name: getattr(known, name) for field, name in _KEPT_AS.get(type(seen), {}).items() if field in dropped}
    lacking = {name for field, name in _KEPT_AS.get(type(seen), {}).items() if _lacks(obj, field)}
    return replace(seen, **{name: value for name, value in kept.items() if name in lacking})


def _fields(body: JsonObject) -> frozenset[str]:
    return frozenset(f"{part}.{name}" for part in ("spec", "status") for name in object_at(body, part))


def _said(body: JsonObject) -> frozenset[str]:
    """The fields of a body that say something."""
    return frozenset(field for field in _fields(body) if _value(body, field) not in (None, "", 0, False, [], {}))


def _lacks(obj: JsonObject, field: str) -> bool:
    return _value(obj, field) is None


def _value(obj: JsonObject, field: str) -> Json:
    part, _, name = field.partition(".")
    return object_at(obj, part).get(name)
