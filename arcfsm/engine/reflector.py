"""A reflector follows one resource in one scope: list, then watch, then again (client-go's word for it).

After a break the watch resumes where it was. Where the API server forgot that point (410 Gone) everything is listed
again and compared with what is known; what may have been missed in between is a gap. Nothing here knows what an object
means: everything goes into the inbox.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from arcfsm.domain.envelope import Source
from arcfsm.domain.exchange import NO_ANSWER, Reply
from arcfsm.domain.instant import MILLISECOND, MINUTE, SECOND, Span
from arcfsm.domain.jsonvalue import JsonObject, object_at, objects_at, text_at
from arcfsm.domain.kinds import RESOURCES, Kind
from arcfsm.domain.observation import Change
from arcfsm.engine.inbox import COUNTS_ANEW, Inbox, Listing, Progress, Seen, Trouble
from arcfsm.engine.ports import ClusterPort, Runtime, WatchStream

PAGE: Final = 500
"""Items asked for at once in a list."""
GONE: Final = 410
RETRY: Final[Span] = 200 * MILLISECOND
RETRY_MAX: Final[Span] = 30 * SECOND
LASTS: Final[Span] = 4 * MINUTE
"""A watch that a server ends by itself lasted at least as long."""
PAUSE: Final[Span] = 20 * MILLISECOND
"""Between two looks at a full inbox."""
_CHANGES: Final = {"ADDED": Change.ADDED, "MODIFIED": Change.MODIFIED, "DELETED": Change.DELETED}
_EXPIRED: Final = "410 Gone: the API server keeps no history that far back"


@dataclass(frozen=True, slots=True)
class Feed:
    """What a reflector follows."""

    kind: Kind
    namespace: str = ""
    """"" for all namespaces."""
    labels: str = ""
    metadata_only: bool = False
    essential: bool = True
    """Nothing is decided before it was read once. Of the others it is said that they can't be, and the rest goes on."""

    @property
    def name(self) -> str:
        """The name under which its resume point is kept: `pods@arc-runners`, with its selector where it has one."""
        scope = f"@{self.namespace}" if self.namespace else ""
        return f"{RESOURCES[self.kind].plural}{scope}{f'?{self.labels}' if self.labels else ''}"

    def __str__(self) -> str:
        where = f"in {self.namespace}" if self.namespace else "in all namespaces"
        return f"{RESOURCES[self.kind].plural} {where}"


class Reflector:
    """Follows one feed for as long as it is not stopped."""

    def __init__(self, feed: Feed, cluster: ClusterPort, runtime: Runtime, inbox: Inbox, *, version: str = "") -> None:
        self.feed = feed
        self._cluster = cluster
        self._runtime = runtime
        self._inbox = inbox
        self._version = version
        """Where to go on; "" to list first."""
        self._reason = ""
        self._failures = 0
        self._trouble = ""
        self._stopped = False
        self._stream: WatchStream | None = None
        self._cut_off = version != ""
        """The latest watch ended sooner than a server ends one, or was another process's."""

    def stop(self) -> None:
        """Follow no longer."""
        self._stopped = True
        if self._stream is not None:
            self._stream.close()

    def read_again(self, reason: str) -> None:
        """List again, whatever was read so far."""
        self._version, self._reason = "", reason
        if self._stream is not None:
            self._stream.close()

    async def run(self) -> None:
        """Follow the feed until stopped."""
        while not self._stopped:
            if not self._version and not await self._list():
                await self._back_off()
                continue
            if not await self._watch():
                await self._back_off()

    async def _list(self) -> bool:
        items: list[JsonObject] = []
        token = ""
        while True:
            reply = await self._cluster.list(
                RESOURCES[self.feed.kind],
                self.feed.namespace,
                labels=self.feed.labels,
                limit=PAGE,
                token=token,
                metadata_only=self.feed.metadata_only,
            )
            if not reply.ok:
                self._complain("list", reply)
                return False
            items += objects_at(reply.body, "items")
            token = text_at(reply.body, "metadata", "continue")
            if not token:
                break
        version = text_at(reply.body, "metadata", "resourceVersion")
        await self._room()
        self._inbox.put(
            Listing(
                feed=self.feed.name,
                kind=self.feed.kind,
                namespace=self.feed.namespace,
                items=tuple(items),
                version=version,
                at=self._runtime.now(),
                reason=self._reason,
            )
        )
        self._version, self._reason = version, ""
        self._recovered()
        return True

    async def _watch(self) -> bool:
        """Follow until the stream ends. Return whether to go on at once."""
        if self._cut_off and not await self._still_counts():
            return not self._version
        opened_at = self._runtime.now()
        stream = await self._cluster.watch(
            RESOURCES[self.feed.kind],
            self.feed.namespace,
            version=self._version,
            labels=self.feed.labels,
            metadata_only=self.feed.metadata_only,
        )
        if isinstance(stream, Reply):
            if stream.status == GONE:
                self._expire()
                return True
            self._complain("watch", stream)
            return False
        heard = False
        self._stream = stream
        try:
            while not self._stopped and (line := await stream.next()) is not None and self._version:
                if not self._take(line):
                    break
                heard = True
                await self._room()
        finally:
            self._stream = None
            stream.close()
        self._cut_off = self._runtime.now() - opened_at < LASTS
        if heard:
            self._recovered()
        return heard or not self._version

    async def _still_counts(self) -> bool:
        """Return whether the API server still counts from where we are.

        A watch from a version that a restored store has not reached yet is silent for as long as that takes, so a
        connection that broke early is a reason to ask (B40).
        """
        reply = await self._cluster.list(
            RESOURCES[self.feed.kind], self.feed.namespace, limit=1, metadata_only=self.feed.metadata_only
        )
        if not reply.ok:
            self._complain("list", reply)
            return False
        self._cut_off = False
        version = text_at(reply.body, "metadata", "resourceVersion")
        if version.isdigit() and self._version.isdigit() and int(version) < int(self._version):
            self._version, self._reason = "", COUNTS_ANEW
        return self._version != ""

    def _take(self, line: JsonObject) -> bool:
        """Take in one line; return whether the stream is still good."""
        word, obj = text_at(line, "type"), object_at(line, "object")
        if word in _CHANGES:
            self._version = text_at(obj, "metadata", "resourceVersion")
            seen = Seen(_CHANGES[word], obj, Source.WATCH, self._runtime.now(), self.feed.name)
            self._inbox.put(seen)
            return True
        if word == "BOOKMARK":
            self._version = text_at(obj, "metadata", "resourceVersion")
            self._inbox.put(Progress(self.feed.name, self._version))
            return True
        code = obj.get("code")
        if code == GONE:
            self._expire()
        else:
            status = code if isinstance(code, int) else NO_ANSWER
            self._complain("watch", Reply(status, obj))
        return False

    def _expire(self) -> None:
        self._version, self._reason = "", _EXPIRED

    def _complain(self, what: str, reply: Reply) -> None:
        """Say once why the feed can't be read."""
        self._failures += 1
        told = text_at(reply.body, "message") or reply.detail or "no answer"
        reason = f"can't {what} {self.feed}: {reply.status or 'no answer'} {told}"
        if reply.status == GONE:
            self._expire()
        if reason != self._trouble and (reply.status in (401, 403, 404) or self._failures > 2):
            self._trouble = reason
            self._inbox.put(Trouble(self.feed.name, reason, self._runtime.now()))

    def _recovered(self) -> None:
        self._failures = 0
        if self._trouble:
            self._trouble = ""
            self._inbox.put(Trouble(self.feed.name, "", self._runtime.now()))

    async def _back_off(self) -> None:
        wait = min(RETRY << min(self._failures, 10), RETRY_MAX)
        await self._runtime.sleep(int(wait * (0.5 + self._runtime.jitter() / 2)))

    async def _room(self) -> None:
        while self._inbox.full and not self._stopped:
            await self._runtime.sleep(PAUSE)
