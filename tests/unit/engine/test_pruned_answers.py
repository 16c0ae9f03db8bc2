"""A write tells which of its fields the installed CRD did not keep (H34)."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.exchange import Reply
from arcfsm.domain.intents import PatchObject
from arcfsm.domain.kinds import AggregateKind, Kind, StreamId
from arcfsm.domain.pruning import PRUNED
from arcfsm.engine.effects import objects

BODY = {"status": {"phase": "Running", "appliedActionableRevision": 3}}


def written(returned, kind=Kind.RUNNER_SET, status=200):
    async def answer(*_arguments, **_options):
        return Reply(status, returned)

    near = SimpleNamespace(
        document=lambda _digest: BODY,
        cluster=SimpleNamespace(patch=answer),
        concealment=SimpleNamespace(clean=str),
    )
    target = StreamId(AggregateKind.RUNNER_SET, "u-1")
    intent = PatchObject(target=target, kind=kind, namespace="ns", name="a", uid="u-1", patch="d", subresource="status")
    return asyncio.run(objects.patch(near, intent, "", lambda _found: False))


@pytest.mark.parametrize(
    ("returned", "answer"),
    [
        ({"status": {"phase": "Running"}}, {PRUNED: "status.appliedActionableRevision"}),
        ({"status": {"phase": "Running", "appliedActionableRevision": 3}}, {}),
        ({}, {PRUNED: "status.appliedActionableRevision,status.phase"}),
    ],
)
def test_H34_a_write_tells_what_was_not_kept_of_it(returned, answer):
    assert written(returned).answer == answer


def test_H34_only_definitions_drop_fields_and_only_of_what_was_taken():
    assert written({}, kind=Kind.POD).answer == {}
    assert (written({}, status=500).answer, written({}, status=500).outcome) == ({}, Outcome.FAILED)
