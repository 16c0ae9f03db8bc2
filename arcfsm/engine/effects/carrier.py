"""The carrier: takes work and carries it out, whatever it is, and always comes back with a settlement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.instant import Instant
from arcfsm.domain.intents import (
    CallService,
    CreateObject,
    CreateRunners,
    DeleteLabelled,
    DeleteObject,
    PatchObject,
    ReadObject,
    RegisterRunner,
    WriteSecret,
)
from arcfsm.domain.jsonvalue import JsonObject, objects_at
from arcfsm.domain.kinds import RESOURCES, Kind
from arcfsm.engine.effects import objects
from arcfsm.engine.effects.access import Accesses
from arcfsm.engine.effects.outcomes import Result
from arcfsm.engine.effects.registration import register
from arcfsm.engine.effects.secrets import write_secret
from arcfsm.engine.effects.service_calls import call_service
from arcfsm.engine.effects.surroundings import Surroundings
from arcfsm.engine.effects.work import Work
from arcfsm.engine.inbox import Settlement

DEFECT: Final = "defect: "
"""How the detail of an outcome begins that no outside caused: an error of this program, to be reported."""
_TEMPLATES: Final = (Kind.SCALE_SET, Kind.RUNNER_SET, Kind.RUNNER, Kind.LISTENER)
"""Kinds whose objects hold what their children are made of."""


class Carrier:
    """Carries work out."""

    def __init__(
        self,
        near: Surroundings,
        *,
        may_act: Callable[[], bool],
        adds_nothing: Callable[[JsonObject], bool],
        settle: Callable[[Settlement], None],
        now: Callable[[], Instant],
        on_defect: Callable[[Work, Exception], None],
    ) -> None:
        self._near = near
        self._accesses = Accesses(near)
        self._may_act = may_act
        self._adds_nothing = adds_nothing
        self._settle = settle
        self._now = now
        self._on_defect = on_defect

    async def carry_out(self, work: Work) -> None:
        """Carry one piece of work out and hand in its settlement. Raises nothing."""
        if not self._may_act():
            # Another one leads now. It will find the intent without an outcome, and look for itself.
            return
        try:
            result = await self._revealed(work)
        except Exception as error:  # noqa: BLE001  # a defect in one effect must not stop all others; it is journaled
            self._on_defect(work, error)
            result = Result(Outcome.FAILED, detail=f"{DEFECT}{type(error).__name__}")
        self._settle(
            Settlement(
                intent=work.intent,
                decision=work.decision,
                index=work.index,
                item=work.item,
                outcome=result.outcome,
                at=self._now(),
                status=result.status,
                detail=result.detail,
                answer=result.answer,
                objects=result.objects,
            )
        )

    async def _revealed(self, work: Work) -> Result:
        """Carry it out; where a value behind a marker is not known yet, read what holds it, once, and try again."""
        try:
            return await self._carry(work)
        except LookupError:
            await self._learn(work)
        try:
            return await self._carry(work)
        except LookupError as error:
            return Result(Outcome.FAILED, detail=f"a value of its template can't be found again: {error}")

    async def _learn(self, work: Work) -> None:
        namespace = getattr(work.intent, "namespace", "")
        for kind in _TEMPLATES:
            reply = await self._near.cluster.list(RESOURCES[kind], namespace)
            for obj in objects_at(reply.body, "items"):
                self._near.concealment.learn(obj)

    async def _carry(self, work: Work) -> Result:
        near, intent = self._near, work.intent
        match intent:
            case CreateRunners():
                return await objects.create_runner(near, intent, work)
            case CreateObject():
                return await objects.create(near, intent)
            case PatchObject():
                return await objects.patch(near, intent, work.lock, self._adds_nothing)
            case DeleteObject():
                return await objects.delete(near, intent)
            case ReadObject():
                return await objects.read(near, intent)
            case DeleteLabelled():
                return await objects.delete_labelled(near, intent)
            case WriteSecret():
                return await write_secret(near, intent)
            case RegisterRunner():
                return await register(near, self._accesses, intent)
            case CallService():
                return await call_service(near, self._accesses, intent)
