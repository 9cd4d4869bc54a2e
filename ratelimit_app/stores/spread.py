"""A call whose buckets may be on several servers: slot by slot, and given back after a refusal.

The buckets of one slot are decided by one script, all or none. Of several slots the first ones are
taken before the last one is asked: others may be refused meanwhile, and a process that ends between
two of them leaves its units taken until they expire.
"""

import logging
import time
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from redis import exceptions

from ratelimit_app.algorithms import Decision
from ratelimit_app.sparingly import Sparingly

from .base import Take, Unavailable, spent, unasked
from .script import BESIDE, LOOK, SPEND, Script, given, packed
from .steps import Steps
from .topology import Topology

#: The part of a call's time that is kept for giving back what it holds.
_KEPT = 0.2

#: How often giving back failed since the start of the process, by kind of fault.
lost: Counter[str] = Counter()

_failed = Sparingly(logging.getLogger("ratelimit_app"))

#: A take and the reset_after (ms) that it was told.
Gift: TypeAlias = tuple[Take, int]


class Scripts(Protocol):
    """The store, as far as it matters here: what it asks, and how it reads the answer."""

    name: str
    taking: Script
    giving: Script

    def bucket(self, take: Take) -> str:
        """The key of a bucket."""
        ...

    def arguments(self, takes: Sequence[Take], words: Sequence[bytes]) -> list[Any]:
        """What follows a script in EVALSHA."""
        ...

    def decisions(self, takes: Sequence[Take], reply: Any) -> list[Decision]:
        """A reply to `taking`. Raises `Unavailable` if it is none."""
        ...


class _Part(NamedTuple):
    """What one script decides: a slot, and which of the takes are in it."""

    slot: int
    at: Sequence[int]


class Spread:
    """One call: what is decided so far, and what is held meanwhile."""

    def __init__(
        self, store: Scripts, topology: Topology, takes: Sequence[Take], until: float
    ) -> None:
        self._store, self._topology = store, topology
        self._takes = takes
        self._until = until
        self._decisions: dict[int, Decision] = {}
        self._held: list[tuple[_Part, int]] = []

    def take(self, spend: bool) -> Steps[list[Decision]]:
        """See `Store.take`."""
        yield from self._topology.look(self._until)
        parts, decided = deque(self._parts()), list[_Part]()
        refused = False
        try:
            while parts and not refused:
                part = parts.popleft()
                try:
                    since = yield from self._decide(part, SPEND if spend else LOOK)
                except exceptions.TryAgainError:
                    if len(part.at) == 1:
                        raise
                    # The slot is being moved, and these buckets are on two nodes by now.
                    parts.extendleft(_Part(part.slot, [at]) for at in reversed(part.at))
                    continue
                refused = any(map(self._refuses, part.at))
                if not refused:
                    decided.append(part)
                    self._held += [(part, since)] if spend else []
        except Exception:
            yield from self._give_back()
            raise
        if refused:
            yield from self._give_back()
            for part in (*decided, *parts):
                yield from self._show(part)
        return [self._decisions[at] for at in range(len(self._takes))]

    def give(self, since: int | None, decisions: Sequence[Decision]) -> Steps[None]:
        """See `Store.give`."""
        yield from self._topology.look(self._until)
        for slot, at in self._parts():
            said = [decisions[each] for each in at] if decisions else ()
            yield from self._give(slot, spent([self._takes[each] for each in at], said), since)

    def _parts(self) -> list[_Part]:
        by_slot: dict[int, list[int]] = {}
        for at, take in enumerate(self._takes):
            by_slot.setdefault(self._topology.slot(self._store.bucket(take)), []).append(at)
        return [_Part(slot, at) for slot, at in by_slot.items()]

    def _decide(self, part: _Part, how: bytes) -> Steps[int]:
        """When that was, by the clock of the server."""
        until, now = self._until, time.monotonic()
        if self._held:
            until -= _KEPT * (until - now)
        takes = [self._takes[at] for at in part.at]
        words = [how, *map(packed, takes)]
        reply = yield from self._scripted(part.slot, self._store.taking, takes, words, until)
        self._decisions.update(zip(part.at, self._store.decisions(takes, reply), strict=True))
        since: int = reply[-1]
        return since

    def _scripted(
        self, slot: int, script: Script, takes: Sequence[Take], words: list[bytes], until: float
    ) -> Steps[Any]:
        call, arguments = self._topology.call, self._store.arguments(takes, words)
        try:
            return (yield from call(slot, "EVALSHA", script.sha, *arguments, until=until))
        except exceptions.NoScriptError:
            # Nothing was done yet, so asking again charges once.
            return (yield from call(slot, "EVAL", script.text, *arguments, until=until))

    def _refuses(self, at: int) -> bool:
        return not (self._decisions[at].allowed or self._takes[at].quota.shadow)

    def _show(self, part: _Part) -> Steps[None]:
        """The buckets as they stay, beside a refusal, which stands whoever is not there to tell."""
        try:
            try:
                yield from self._decide(part, BESIDE)
            except exceptions.TryAgainError:
                for at in part.at:
                    yield from self._decide(_Part(part.slot, [at]), BESIDE)
        except Exception:
            for at in part.at:
                self._decisions[at] = unasked(self._takes[at].quota, self._store.name)

    def _give_back(self) -> Steps[None]:
        """What is held, as far as that goes: it never fails the request."""
        held, self._held = self._held, []
        for (slot, at), since in held:
            allowed = [each for each in at if self._decisions[each].allowed]
            said = [self._decisions[each] for each in allowed]
            gifts = spent([self._takes[each] for each in allowed], said)
            try:
                yield from self._give(slot, gifts, since)
            except Exception as error:
                lost[getattr(error, "kind", "reply")] += 1
                _failed.warning("Units could not be given back; they expire in time: %s", error)

    def _give(self, slot: int, gifts: Sequence[Gift], since: int | None) -> Steps[None]:
        try:
            yield from self._gave(slot, gifts, since)
        except exceptions.TryAgainError:
            for gift in gifts:
                yield from self._gave(slot, [gift], since)

    def _gave(self, slot: int, gifts: Sequence[Gift], since: int | None) -> Steps[None]:
        if not gifts:
            return
        script, takes = self._store.giving, [take for take, _ in gifts]
        reply = yield from self._scripted(slot, script, takes, given(gifts, since), self._until)
        if type(reply) is not int or reply != len(gifts):
            raise Unavailable(f"not a reply of the script: {reply!r:.80}", "reply")
