"""The world as bytes, to start without reading the whole journal.

A snapshot is a cache of the fold, never a source: it carries the number of its format and the version of the rules,
and one that does not fit is thrown away and folded again (B58). Documents are not in it; they are fetched from the
journal when asked for.
"""

from __future__ import annotations

from typing import Final

import msgspec

from arcfsm.domain.documents import Documents
from arcfsm.domain.instant import Instant
from arcfsm.domain.kinds import Kind, StreamId
from arcfsm.domain.knowledge import Answer
from arcfsm.domain.settings import ControllerSettings
from arcfsm.domain.states import Dependent, DependentKey, Effects, Listener, Runner, RunnerSet, ScaleSet
from arcfsm.domain.world import World

FORMAT: Final = 4
"""Grows with every change of a state's fields or meaning."""


class SnapshotMismatchError(Exception):
    """The snapshot was written in another format: fold the journal instead."""


class _Frozen(msgspec.Struct, frozen=True, kw_only=True):
    format: int
    settings: bytes
    advisory: bool
    deciding: bool
    head: int
    now: Instant
    scale_sets: list[ScaleSet]
    runner_sets: list[RunnerSet]
    runners: list[Runner]
    listeners: list[Listener]
    dependents: list[Dependent]
    effects: list[tuple[str, Effects]]
    answers: list[tuple[str, int, str, Instant | None]]
    versions: list[tuple[str, int]]
    closed: list[str]
    pruned: list[tuple[Kind, list[str]]]


_DECODER: Final = msgspec.msgpack.Decoder(_Frozen)


def freeze(world: World) -> bytes:
    """Return the world without its documents. Equal worlds give equal bytes."""
    return msgspec.msgpack.encode(
        _Frozen(
            format=FORMAT,
            settings=world.settings.model_dump_json().encode(),
            advisory=world.advisory,
            deciding=world.deciding,
            head=world.head,
            now=world.now,
            scale_sets=[world.scale_sets[uid] for uid in sorted(world.scale_sets)],
            runner_sets=[world.runner_sets[uid] for uid in sorted(world.runner_sets)],
            runners=[world.runners[uid] for uid in sorted(world.runners)],
            listeners=[world.listeners[uid] for uid in sorted(world.listeners)],
            dependents=[world.dependents[key] for key in sorted(world.dependents)],
            effects=[(str(stream), world.effects[stream]) for stream in sorted(world.effects)],
            answers=[(str(stream), *world.answers[stream]) for stream in sorted(world.answers)],
            versions=[(str(stream), world.versions[stream]) for stream in sorted(world.versions)],
            closed=[str(stream) for stream in world.closed],
            pruned=[(kind, sorted(world.pruned[kind])) for kind in sorted(world.pruned)],
        ),
        # What the service answered reads the same in another order.
        order="deterministic",
    )


def thaw(frozen: bytes, documents: Documents | None = None) -> World:
    """Return the world that was frozen. Raises SnapshotMismatchError for another format."""
    try:
        found = _DECODER.decode(frozen)
    except msgspec.DecodeError as error:
        raise SnapshotMismatchError(str(error)) from error
    if found.format != FORMAT:
        raise SnapshotMismatchError(f"format {found.format}, this program reads {FORMAT}")
    world = World(documents)
    world.settings = ControllerSettings.model_validate_json(found.settings)
    world.advisory, world.deciding = found.advisory, found.deciding
    world.head, world.now = found.head, found.now
    world.dependents = {DependentKey(one.kind, one.namespace, one.name): one for one in found.dependents}
    world.effects = {StreamId.parse(stream): effects for stream, effects in found.effects}
    world.answers = {
        StreamId.parse(stream): Answer(seq, digest, wake_at) for stream, seq, digest, wake_at in found.answers
    }
    world.versions = {StreamId.parse(stream): version for stream, version in found.versions}
    world.closed = {StreamId.parse(stream): None for stream in found.closed}
    world.pruned = {kind: frozenset(fields) for kind, fields in found.pruned}
    world.settle_in(found.scale_sets, found.runner_sets, found.runners, found.listeners)
    return world
