"""The start-up interlock (H20): whether the controller that we replace still leads somewhere near.

Its chart turns leader election on only where it runs more than one replica, and then names the lease like its
deployment, `<release>-gha-rs-controller` unless it was told another name. A single replica has no lease and can't be
found this way. Whether a leader lives is not read from the times in its lease, which are another machine's: its lease
is watched for as long as it is valid, and whoever renews it meanwhile lives.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from arcfsm.domain.exchange import NO_ANSWER, Reply
from arcfsm.domain.instant import SECOND, Span
from arcfsm.domain.jsonvalue import JsonObject, objects_at, text_at
from arcfsm.engine.ports import ClusterPort, Runtime
from arcfsm.service.lease import LEASES, LeaseView, read_lease

RIVAL_SUFFIXES: Final = ("gha-rs-controller", "gha-runner-scale-set-controller")
"""How the leases of that controller end by default."""
POLL: Final[Span] = 2 * SECOND
DURATION_MIN: Final[Span] = 15 * SECOND
"""What its leader election uses; one that says less is watched as long."""
DURATION_MAX: Final[Span] = 120 * SECOND


@dataclass(frozen=True, slots=True)
class Rivals:
    """What was found."""

    live: tuple[str, ...] = ()
    """Leases that were renewed while we watched, each as `name (holder)`."""
    dead: tuple[str, ...] = ()
    """Leases that somebody holds and nobody renewed."""
    unknown: str = ""
    """Why nothing can be said, in one line; "" where something can."""


async def rival_lease(cluster: ClusterPort, runtime: Runtime, namespace: str, *, names: Iterable[str] = ()) -> Rivals:
    """Look for leases of the controller that we replace, and watch those that are held until each is told.

    `names` are further leases to look at, where it was given another name. Returns as soon as one lives, and at once
    where none is held; else after the longest duration of those there are.
    """
    wanted = frozenset(names)
    first = await cluster.list(LEASES, namespace)
    if not first.ok:
        return Rivals(unknown=_unknown(first, namespace))
    known = dict(_held(first.body, wanted))
    untold = set(known)
    waited: Span = 0
    dead: list[str] = []
    while untold:
        await runtime.sleep(POLL)
        waited += POLL
        reply = await cluster.list(LEASES, namespace)
        if not reply.ok:
            if waited >= DURATION_MAX:
                return Rivals(dead=tuple(dead), unknown=_unknown(reply, namespace))
            continue
        now = dict(_held(reply.body, wanted))
        live = [_shown(name, view) for name, view in now.items() if _renewed(known.get(name), view)]
        if live:
            return Rivals(live=tuple(live), dead=tuple(dead))
        # Released or deleted: its leader is on its way out.
        untold &= now.keys()
        for name in sorted(untold):
            if waited > min(max(known[name].duration, DURATION_MIN), DURATION_MAX):
                dead.append(_shown(name, known[name]))
                untold.discard(name)
    return Rivals(dead=tuple(dead))


def _held(body: JsonObject, wanted: frozenset[str]) -> list[tuple[str, LeaseView]]:
    found = []
    for one in objects_at(body, "items"):
        name = text_at(one, "metadata", "name")
        if name in wanted or name.endswith(RIVAL_SUFFIXES):
            view = read_lease(one)
            if view.holder:
                found.append((name, view))
    return found


def _renewed(before: LeaseView | None, now: LeaseView) -> bool:
    """Whether somebody renewed it: one that was not there, or not held, before is as alive as can be."""
    return before is None or before.record != now.record


def _shown(name: str, view: LeaseView) -> str:
    return f"{name} ({view.holder})"


def _unknown(reply: Reply, namespace: str) -> str:
    why = reply.detail if reply.status == NO_ANSWER else f"{reply.status} {text_at(reply.body, 'message')}".strip()
    return f"leases in {namespace} can't be listed: {why}"
