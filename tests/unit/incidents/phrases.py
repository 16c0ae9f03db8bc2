"""The phrases in which cases say what must and must not happen, as predicates over a story that was run.

A phrase is matched whole; one that nothing matches is an error, never a pass. `A OR B` and `A or B` need one of both,
`A and B` both, `no A` that A is not so. Where a phrase is older than a rule, the reading is said beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from arcfsm.domain.events.decision import Decided, Finding, Outcome, Verdict
from arcfsm.domain.gauges import FAILED_RUNNERS, PENDING_RUNNERS, RUNNING_RUNNERS, gauges
from arcfsm.domain.instant import SECOND, Instant
from arcfsm.domain.intents import CreateRunners
from arcfsm.domain.kinds import AggregateKind, Kind, StreamId
from arcfsm.domain.states import Runner
from tests.unit.incidents.case import START
from tests.unit.incidents.cluster import Object
from tests.unit.incidents.replies import canonical
from tests.unit.incidents.story import Did, Story

Predicate = Callable[[Story, re.Match[str]], bool]
_PHRASES: list[tuple[re.Pattern[str], Predicate]] = []

KINDS = {
    "ARS": Kind.SCALE_SET,
    "ERS": Kind.RUNNER_SET,
    "ER": Kind.RUNNER,
    "AL": Kind.LISTENER,
    "LPOD": Kind.POD,
    "POD": Kind.POD,
    "JIT": Kind.SECRET,
    **{kind.value.lower(): kind for kind in Kind},
    "listener pod": Kind.POD,
    "runner": Kind.RUNNER,
    "scale set": Kind.SCALE_SET,
    "runner set": Kind.RUNNER_SET,
    "listener": Kind.LISTENER,
}
_KIND = "(?P<kind>" + "|".join(sorted(KINDS, key=len, reverse=True)) + "|Pod|Secret|Role|RoleBinding|ServiceAccount)"
_NUMBERS = {"no": 0, "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
_ALIASES = {"VersionSkew": "VersionMismatch", "ScaleSetLost": "ScaleSetLost"}
"""Names of findings that rules.md calls otherwise (T002)."""
_COUNTED = {"pending": PENDING_RUNNERS, "running": RUNNING_RUNNERS, "failed": FAILED_RUNNERS}


class UnknownPhrase(LookupError):  # noqa: N818  # what it is
    """Nobody has taught us what this means."""


def holds(story: Story, phrase: str) -> bool:
    """Whether a phrase is true of a story."""
    text = phrase.strip()
    for pattern, predicate in _PHRASES:
        found = pattern.fullmatch(text)
        if found is not None:
            return predicate(story, found)
    for separator, combine in ((" OR ", any), (" or ", any), (" AND ", all), (" and ", all), ("; ", all)):
        if separator in text:
            return combine([holds(story, part) for part in text.split(separator)])
    if text.startswith("no "):
        return not holds(story, text.removeprefix("no "))
    raise UnknownPhrase(phrase)


def phrase(pattern: str) -> Callable[[Predicate], Predicate]:
    """Teach a phrase. Earlier ones come first."""

    def teach(predicate: Predicate) -> Predicate:
        _PHRASES.append((re.compile(pattern), predicate))
        return predicate

    return teach


# What is looked at


def _kind(found: re.Match[str]) -> Kind:
    word = found["kind"]
    return KINDS.get(word) or KINDS.get(word.lower()) or Kind(word)


def _is_listener_pod(story: Story, name: str) -> bool:
    return any(
        one.object["metadata"]["name"] == name for one in story.cluster.history if _of(one.object, Kind.LISTENER)
    )


def _of(obj: Object, kind: Kind) -> bool:
    return bool(obj["kind"] == kind)


def _versions(story: Story, kind: Kind, name: str | None) -> Iterator[tuple[Instant, str, Object]]:
    """Every state in which an object was."""
    for change in story.cluster.history:
        if _of(change.object, kind) and name in (None, change.object["metadata"]["name"]):
            yield change.at, change.type, change.object


def _present(story: Story, kind: Kind, name: str | None = None) -> list[Object]:
    return [one for one in story.cluster.of(kind) if name in (None, one["metadata"]["name"])]


def _at(story: Story, kind: Kind, name: str | None, moment: Instant) -> list[Object]:
    """The objects as they were at a time."""
    known: dict[str, Object] = {}
    for at, change, obj in _versions(story, kind, name):
        if at <= moment:
            known[obj["metadata"]["uid"]] = obj
            if change == "DELETED":
                del known[obj["metadata"]["uid"]]
    return list(known.values())


def _done(story: Story, verb: str, kind: Kind, name: str | None = None, *, listener: bool | None = None) -> list[Did]:
    found = []
    for did in story.did:
        if did.key is None or did.key[0] is not kind or not did.call.startswith(f"{verb} "):
            continue
        if name is not None and did.key[2] != name:
            continue
        if listener is None or _is_listener_pod(story, did.key[2]) is listener:
            found.append(did)
    return found


def _calls(story: Story, call: str) -> list[Did]:
    wanted = canonical(call)
    return [did for did in story.did if did.call == wanted or did.call.startswith(f"{wanted}(")]


def _findings(story: Story) -> list[tuple[StreamId, Decided, Finding]]:
    return [(one.stream, decided, finding) for one, decided in story.decisions for finding in decided.findings]


def _stream_decisions(story: Story, name: str) -> list[Decided]:
    uids = {one.object["metadata"]["uid"] for one in story.cluster.history if one.object["metadata"]["name"] == name}
    return [decided for journaled, decided in story.decisions if journaled.stream.uid in uids]


def _phase(obj: Object) -> str:
    return str((obj.get("status") or {}).get("phase", ""))


def _events_end(story: Story) -> Instant:
    return START + round(max((event["t"] for event in story.case.events), default=0) * SECOND)


def _number(text: str) -> int:
    return _NUMBERS[text] if text in _NUMBERS else int(text)


def _works(runner: Runner) -> bool:
    container = runner.pod.container if runner.pod is not None else None
    return container is not None and container.state == "running"


# Findings, conditions and decisions


@phrase(r"(?:visible )?condition naming the cause")
def _(story: Story, _found: re.Match[str]) -> bool:
    return bool(_findings(story)) or any(decided.verdict is Verdict.STALLED for _, decided in story.decisions)


@phrase(
    r"(?:condition|finding|event|journaled|journal) (?P<code>[A-Z]\w+)(?:\(.*\))?"
    r"|(?P<code2>[A-Z]\w+)(?:\(.*\))? (?:recorded|journaled|reported|raised)"
)
def _(story: Story, found: re.Match[str]) -> bool:
    code = found["code"] or found["code2"]
    return any(finding.code == _ALIASES.get(code, code) for _, _, finding in _findings(story))


@phrase(r"condition")
def _(story: Story, _found: re.Match[str]) -> bool:
    return bool(_findings(story))


@phrase(r"decision(?: for (?P<name>\S+))?")
def _(story: Story, found: re.Match[str]) -> bool:
    return bool(_stream_decisions(story, found["name"]) if found["name"] else story.decisions)


@phrase(r"crash")
def _(_story: Story, _found: re.Match[str]) -> bool:
    return False  # the story was told to its end


@phrase(r"(?P<name>\S+) handled(?: or quarantined with an event)?")
def _(story: Story, found: re.Match[str]) -> bool:
    return bool(_stream_decisions(story, found["name"]))


# Phases


@phrase(r"(?P<kind>ARS|ERS) phase (?P<phase>\w+) with cause (?P<name>\S+)/exit (?P<code>\d+)")
def _(story: Story, found: re.Match[str]) -> bool:
    """The chain of causes in the journal leads from the phase back to that runner's exit."""
    by_seq = {one.seq: one for one in story.journal}
    uids = {obj["metadata"]["uid"] for _, _, obj in _versions(story, Kind.RUNNER, found["name"])}
    kind = {"ARS": "ScaleSetPhaseChanged", "ERS": "RunnerSetPhaseChanged"}[found["kind"]]
    for journaled in story.journal:
        event: Any = journaled.event
        if type(event).__name__ != kind or event.phase != found["phase"]:
            continue
        at = journaled
        while at.cause is not None and at.cause in by_seq:
            at = by_seq[at.cause]
            fact: Any = at.event
            container = fact.pod.container if hasattr(fact, "pod") else None
            if at.stream.uid in uids and container is not None and container.exit_code == int(found["code"]):
                return True
    return False


@phrase(r"(?:ER|ERS|ARS)(?P<name> \S+)? stays (?P<phase>\w+)|(?P<kept>ER|ERS|ARS) phase stays (?P<phase2>\w+)")
def _(story: Story, found: re.Match[str]) -> bool:
    """It never has another phase for as long as it is there."""
    kind = KINDS[found[0].split()[0]]
    name = found["name"].strip() if found["name"] else None
    wanted = found["phase"] or found["phase2"]
    return all(_phase(obj) == wanted for _, _, obj in _versions(story, kind, name))


@phrase(r"(?P<kind>ER|ERS|ARS)(?P<name> \S+)? phase (?P<phase>\w+)|(?P<kind2>ARS|ERS|ER)\.phase=(?P<phase2>\w+)")
def _(story: Story, found: re.Match[str]) -> bool:
    kind, wanted = KINDS[found["kind"] or found["kind2"]], found["phase"] or found["phase2"]
    name = found["name"].strip() if found["name"] else None
    return any(_phase(obj) == wanted for _, _, obj in _versions(story, kind, name))


@phrase(r"ER(?P<name> \S+)? (?P<phase>Failed|Succeeded|Outdated|Pending) with (?:the waiting|that) reason")
def _(story: Story, found: re.Match[str]) -> bool:
    name = found["name"].strip() if found["name"] else None
    reasons = set()
    for _, _, pod in _versions(story, Kind.POD, name):
        for status in (pod.get("status") or {}).get("containerStatuses") or ():
            reasons.add(((status.get("state") or {}).get("waiting") or {}).get("reason"))
    return any(
        _phase(obj) == found["phase"] and obj["status"].get("reason") in reasons - {None}
        for _, _, obj in _versions(story, Kind.RUNNER, name)
    )


@phrase(r"ER(?P<name> \S+)? (?P<phase>Failed|Succeeded|Outdated|Pending)")
def _(story: Story, found: re.Match[str]) -> bool:
    name = found["name"].strip() if found["name"] else None
    return any(_phase(obj) == found["phase"] for _, _, obj in _versions(story, Kind.RUNNER, name))


@phrase(r"ER(?P<name> \S+)? Running")
def _(story: Story, found: re.Match[str]) -> bool:
    """Its runner works. Since 2026-07 the phase says Running only of one with a job (Z9)."""
    name = found["name"].strip() if found["name"] else None
    runners = [one for one in story.world.runners.values() if one.present and name in (None, one.name)]
    return bool(runners) and all(one.phase == "Running" or _works(one) for one in runners)


@phrase(r"(?P<phase>Pending|Running|Failed|Terminating) for ever")
def _(story: Story, found: re.Match[str]) -> bool:
    """It was so when the story's events were over, and is so when it ends, with nothing waited for."""
    end = _events_end(story)
    stuck = {one["metadata"]["uid"] for one in _at(story, Kind.RUNNER, None, START) if _phase(one) == found["phase"]}
    still = {one["metadata"]["uid"] for one in _at(story, Kind.RUNNER, None, end) if _phase(one) == found["phase"]}
    return bool(stuck & still)


# Counts: those of the status became gauges in 2026-07 (rules.md 1.1), counted from the fold (M12)


@phrase(r"(?:ARS|ERS) counters (?:become|are|set to) 0")
def _(story: Story, _found: re.Match[str]) -> bool:
    return all(gauge.value == 0 for gauge in gauges(story.world) if gauge.name in _COUNTED.values())


@phrase(r"(?:ARS|ERS) (?P<counts>(?:(?:pending|running|failed) \d+ ?)+)")
def _(story: Story, found: re.Match[str]) -> bool:
    """A runner whose container runs counts as running, as the counters of the status did."""
    counts = {"pending": 0, "running": 0, "failed": 0}
    for one in story.world.runners.values():
        if one.present and not one.deleting and one.phase in ("", "Pending", "Running", "Failed"):
            state = (
                "failed" if one.phase == "Failed" else "running" if one.phase == "Running" or _works(one) else "pending"
            )
            counts[state] += 1
    wanted = re.findall(r"(\w+) (\d+)", found["counts"])
    return all(counts[state] == int(number) for state, number in wanted)


@phrase(r"(?:ARS|ERS) (?P<state>pending|running|failed) still (?P<count>\d+)")
def _(story: Story, found: re.Match[str]) -> bool:
    return holds(story, f"ARS {found['state']} {found['count']}")


# Fields


@phrase(r"(?P<kind>ARS|ERS|ER|AL) annotation (?P<key>[^=\s]+)=(?P<value>.*)")
def _(story: Story, found: re.Match[str]) -> bool:
    present = _present(story, _kind(found))
    return any((one["metadata"].get("annotations") or {}).get(found["key"]) == found["value"] for one in present)


@phrase(r"(?P<kind>ARS|ERS|ER|AL)\.(?P<path>[\w.]+)=(?P<value>.*)")
def _(story: Story, found: re.Match[str]) -> bool:
    present = _present(story, _kind(found))
    return bool(present) and all(_told(one, found["path"]) == found["value"] for one in present)


@phrase(r"ERS (?:spec\.)?replicas (?P<value>\d+)")
def _(story: Story, found: re.Match[str]) -> bool:
    present = _present(story, Kind.RUNNER_SET)
    return bool(present) and all((one["spec"].get("replicas") or 0) == int(found["value"]) for one in present)


def _told(obj: Any, path: str) -> str:
    for part in path.split("."):
        obj = (obj or {}).get(part)
    return "" if obj is None else str(obj).lower() if isinstance(obj, bool) else str(obj)


# Creations, deletions, calls


@phrase(
    r"(?:ERs?|runners?) (?:with a job )?(?:deleted|deletion)"
    r"|deletion of any ER with a job|delete of a runner with a job"
)
def _(story: Story, found: re.Match[str]) -> bool:
    busy = {
        obj["metadata"]["name"]
        for _, _, obj in _versions(story, Kind.RUNNER, None)
        if "job" not in found[0] or (obj.get("status") or {}).get("jobId")
    }
    return any(did.key is not None and did.key[2] in busy for did in _done(story, "delete", Kind.RUNNER))


@phrase(r"AL (?:deleted|removed|switched off)")
def _(story: Story, _found: re.Match[str]) -> bool:
    """Switched off: gone, or kept as a Stopped object without a process (Z2)."""
    listening = [one for one in _present(story, Kind.LISTENER) if one["spec"].get("phase") != "Stopped"]
    pods = [one for one in _present(story, Kind.POD) if _is_listener_pod(story, one["metadata"]["name"])]
    return not listening and not pods


@phrase(r"(?P<kind>ARS|ERS|ER|AL)(?P<name> \S+)? (?P<what>created|deleted|recreated|rebuilt|replaced)")
def _(story: Story, found: re.Match[str]) -> bool:
    name, kind = (found["name"].strip() if found["name"] else None), _kind(found)
    if found["what"] in ("created", "recreated", "rebuilt", "replaced"):
        return bool(_done(story, "create", kind, name))
    return bool(_done(story, "delete", kind, name))


@phrase(r"(?:exactly )?(?P<count>one|two|three|\d+) (?P<kind>ARS|ERS|ER|AL|pod|POD) (?P<verb>create|delete)s?")
def _(story: Story, found: re.Match[str]) -> bool:
    made = [did for did in _done(story, found["verb"], _kind(found)) if did.outcome is Outcome.OK]
    return len(made) == _number(found["count"])


@phrase(r"second create of any ER")
def _(story: Story, _found: re.Match[str]) -> bool:
    """The runners of the beginning were the first."""
    return any(isinstance(did.intent, CreateRunners) for did in story.did)


@phrase(r"(?P<verb>create|delete) listener pod(?P<after> after delete)?")
def _(story: Story, found: re.Match[str]) -> bool:
    done = _done(story, found["verb"], Kind.POD, listener=True)
    if not found["after"]:
        return bool(done)
    deleted = _done(story, "delete", Kind.POD, listener=True)
    return bool(deleted) and any(story.did.index(did) > story.did.index(deleted[0]) for did in done)


@phrase(rf"(?P<verb>create|delete|patch) (?:an? |any |the )?{_KIND}(?P<name> (?!after\b)\S+)?")
def _(story: Story, found: re.Match[str]) -> bool:
    name = found["name"].strip() if found["name"] else None
    return bool(_done(story, found["verb"], _kind(found), name))


@phrase(r"creates?")
def _(story: Story, _found: re.Match[str]) -> bool:
    return any(isinstance(did.intent, CreateRunners) for did in story.did)


@phrase(r"(?P<call>[A-Z][A-Za-z]+)(?P<argument>\(\S*\))?(?: called)?")
def _(story: Story, found: re.Match[str]) -> bool:
    return bool(_calls(story, found["call"] + (found["argument"] or "")))


@phrase(r"(?P<kind>pod|POD) created at t=(?P<t>\d+)")
def _(story: Story, found: re.Match[str]) -> bool:
    """As soon as it is possible: within one retry, which is spread by a fifth (H40)."""
    moment = START + int(found["t"]) * SECOND
    retry = story.case.settings.quota_retry * 12 // 10 + 2 * story.latency
    made = [did.at for did in _done(story, "create", Kind.POD, listener=False) if did.outcome is Outcome.OK]
    return bool(made) and moment <= made[0] <= moment + retry


@phrase(r"retry about every (?P<span>\d+) s")
def _(story: Story, found: re.Match[str]) -> bool:
    tries = [did.at for did in _done(story, "create", Kind.POD, listener=False)]
    span = int(found["span"]) * SECOND
    gaps = [later - earlier for earlier, later in pairwise(tries)]
    return bool(gaps) and all(span * 7 // 10 <= gap <= span * 13 // 10 + 2 * story.latency for gap in gaps)


# Slots and capacity


@phrase(r"(?P<count>\w+) usable runners? exist(?: or are being created)?")
def _(story: Story, found: re.Match[str]) -> bool:
    usable = [one for one in story.world.runners.values() if one.present and not one.deleting and not one.done]
    births = sum(story.world.births_in_flight(uid) for uid in story.world.runner_sets)
    return len(usable) + births == _number(found["count"])


@phrase(r"slot freed")
def _(story: Story, _found: re.Match[str]) -> bool:
    """No runner of the beginning holds its slot any more when the events are over."""
    names = {obj["metadata"]["name"] for obj in _at(story, Kind.RUNNER, None, START)}
    left = {obj["metadata"]["name"] for obj in _at(story, Kind.RUNNER, None, _events_end(story))}
    return not names & left


# Finalizers


@phrase(
    r"(?P<when>before|after) (?P<t>\d+) s: finalizer (?P<what>kept|removed)(?P<why> with reason)?"
    r"|finalizer kept at t=(?P<at>\d+)"
)
def _(story: Story, found: re.Match[str]) -> bool:
    if found["at"]:
        return _held(story, START + int(found["at"]) * SECOND)
    limit = START + int(found["t"]) * SECOND
    if found["when"] == "before":
        return _held(story, limit - SECOND) is (found["what"] == "kept")
    reasons = {"RegistrationAbandoned", "PodStuck"}
    told = not found["why"] or any(finding.code in reasons for _, _, finding in _findings(story))
    patience = limit + story.case.settings.busy_retry + 2 * story.latency
    return told and _held(story, patience) is (found["what"] == "kept")


def _held(story: Story, moment: Instant) -> bool:
    first = {obj["metadata"]["uid"] for obj in _at(story, Kind.RUNNER, None, START)}
    there = [obj for obj in _at(story, Kind.RUNNER, None, moment) if obj["metadata"]["uid"] in first]
    return any(obj["metadata"].get("finalizers") for obj in there)


# Listeners


@phrase(r"(?:force delete|forced? deletion)(?: or replacement)?(?: with reason)?")
def _(story: Story, _found: re.Match[str]) -> bool:
    forced = any(getattr(did.intent, "grace_period_s", None) == 0 for did in _done(story, "delete", Kind.POD))
    return forced and any(finding.code == "PodStuck" for _, _, finding in _findings(story))


@phrase(r"at most one open session")
def _(story: Story, _found: re.Match[str]) -> bool:
    """A session belongs to a listener pod: never are two of them there at once."""
    moments = sorted({change.at for change in story.cluster.history})
    pods = (
        [one for one in _at(story, Kind.POD, None, moment) if _is_listener_pod(story, one["metadata"]["name"])]
        for moment in moments
    )
    return all(len(there) <= 1 for there in pods)


@phrase(r"wait without timer")
def _(story: Story, _found: re.Match[str]) -> bool:
    """Some listener has no pod that lives when the story ends, and nothing will ever look again."""
    for one in story.world.listeners.values():
        dead = one.pod is None or one.state == "down"
        answer = story.world.answers.get(StreamId(AggregateKind.LISTENER, one.uid))
        if dead and not one.stopped and (answer is None or answer.wake_at is None):
            return True
    return False


@phrase(r"unbounded listener restarts")
def _(story: Story, _found: re.Match[str]) -> bool:
    """More of them than a doubling wait allows, in the time that the story takes."""
    made = _done(story, "create", Kind.POD, listener=True)
    span, delay, allowed = story.now - START, story.case.settings.listener_restart_delay, 1
    while span > 0:
        span -= delay
        delay = min(delay * 2, story.case.settings.listener_restart_delay_max)
        allowed += 1
    return len(made) > allowed
