"""All that a process holds, and what a call is to ask for beside it; asks nobody itself."""

import concurrent.futures
import threading
from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

from ratelimit_app.algorithms import Decision

from .base import Take, Unavailable
from .holding import Flight, Holding


class Part(NamedTuple):
    """One take of a call: the units set aside here, those it needs, and those to be asked for."""

    held: Holding
    aside: int
    need: int
    ask: int
    leads: bool


class Call(NamedTuple):
    """A call with its parts, None for a take that has no lease."""

    takes: Sequence[Take]
    parts: list[Part | None]

    def asks(self) -> list[Take]:
        """What the store is to be asked."""
        return [
            take if part is None else take._replace(cost=part.ask)
            for take, part in zip(self.takes, self.parts, strict=True)
            if part is None or part.need
        ]

    def modest(self, said: Sequence[Decision]) -> "Call | None":
        """The same call without leases, if one is refused that may be so for nothing but its size.

        Also where another policy refuses in any case: what is told of this one must be true.
        """
        if all(reply.allowed for reply in said):
            return None
        asked = [part for part in self.parts if part is None or part.need]
        refused = [
            part is not None and part.ask > part.need
            for part, take, reply in zip(asked, self.asks(), said, strict=True)
            if not reply.allowed and not take.quota.shadow
        ]
        if not any(refused):
            return None
        return self._replace(parts=[part and part._replace(ask=part.need) for part in self.parts])


class Holdings:
    """See `LeaseStore`. Safe among threads; every method is over at once."""

    def __init__(self, now: Callable[[], int], most: int) -> None:
        self._now = now
        self._most = most
        self._lock = threading.Lock()
        self._held: dict[tuple[str, bytes], Holding] = {}

    def __len__(self) -> int:
        return len(self._held)

    def spent(self, take: Take) -> Decision | None:
        """The answer to a take that is paid for already."""
        quota, identity, cost = take
        if quota.lease == 1:
            return None
        held = self._held.get((quota.tag, identity))
        # The same quota, and not only an equal one: what was compiled anew is looked at in `call`.
        if held is None or held.quota is not quota:
            return None
        with self._lock:
            now = self._now()
            if (held.units if now < held.firm else held.live(now)) < cost:
                return None
            held.units -= cost
            return held.said(now)

    def unspent(self, takes: Sequence[Take]) -> list[int]:
        """How many units are held of each bucket."""
        with self._lock:
            now = self._now()
            return [self._holding(each).live(now) if is_leased(each) else 0 for each in takes]

    def call(self, takes: Sequence[Take], thread: int | None = None) -> Call | Flight:
        """What to ask for; or whose flight to wait for, and then nothing is set aside.

        A `thread` that would wait for a task of its own does not: that could never go on.
        """
        with self._lock:
            now, parts = self._now(), []
            for take in takes:
                part = self._part(take, now, thread) if is_leased(take) else None
                if isinstance(part, concurrent.futures.Future):
                    return part
                parts.append(part)
            for part in filter(None, parts):
                part.held.set_aside(part.aside)
                if part.leads:
                    part.held.owner = threading.get_ident()
            return Call(takes, parts)

    def settle(self, call: Call, said: Sequence[Decision], sent: int) -> list[Decision]:
        """Book what the store said to the call's `asks` at `sent`; the answer to the call."""
        refused = any(
            not reply.allowed and not take.quota.shadow
            for take, reply in zip(call.asks(), said, strict=True)
        )
        replies, decisions = iter(said), []
        with self._lock:
            now = self._now()
            for part in call.parts:
                if part is None:
                    decisions.append(next(replies))
                    continue
                # Set aside for nothing, or more than the call needs.
                part.held.back(part.aside, part.aside if refused else part.ask - part.need)
                if not part.need:
                    decisions.append(part.held.said(now))
                    continue
                reply = next(replies)
                if reply.remaining is not None:
                    part.held.heard(reply, sent, 0 if refused else part.ask)
                decisions.append(with_units(reply, part.held.units))
            landed = _landed(call)
        for flight in landed:
            flight.set_result(None)
        return decisions

    def failed(self, call: Call, error: BaseException) -> None:
        """The store failed, or the task was cancelled: nothing is known of what was asked for."""
        with self._lock:
            for part in filter(None, call.parts):
                part.held.back(part.aside, part.aside)
            landed = _landed(call)
        for flight in landed:
            flight.set_result(error if isinstance(error, Unavailable) else None)

    def forget(self, takes: Sequence[Take]) -> None:
        """Let go of what is held of these buckets."""
        with self._lock:
            for quota, identity, _ in takes:
                self._held.pop((quota.tag, identity), None)

    def _part(self, take: Take, now: int, thread: int | None) -> Part | Flight:
        held = self._holding(take)
        live, lease = held.live(now), take.quota.lease
        need = ask = max(0, take.cost - live)
        # Near the limit it asks for what the request needs; and where units have lapsed, since some
        # may be left.
        if need and held.remaining >= lease and not held.lapsed:
            if not held.owner:
                # What other calls have set aside may yet come back.
                ask = max(lease - held.aside, take.cost) - live
            elif held.owner != thread:
                return held.awaited()
        return Part(held, take.cost - need, need, ask, ask > need)

    def _holding(self, take: Take) -> Holding:
        key = take.quota.tag, take.identity
        held = self._held.get(key)
        if held is not None and held.quota.limit == take.quota.limit:
            held.quota = take.quota
        else:
            if len(self._held) >= self._most:
                # The older half: what they hold lapses, for the store counts it as spent.
                for old in list(islice(self._held, -(-self._most // 2))):
                    del self._held[old]
            held = self._held[key] = Holding(take.quota)
        return held


def is_leased(take: Take) -> bool:
    """Whether its units may be held.

    A cost that can never fit is the store's to refuse. The whole capacity is there only once all
    that is held has lapsed: what is held is of no use to it, and its wait is the store's. Nor are
    some held units to a higher cost in a sliding counter: they may lapse in the wait for the rest.
    """
    quota, _, cost = take
    if quota.lease < 2 or cost >= quota.limit.burst:
        return False
    return cost < 2 or quota.algorithm != "sliding_window_counter"


def with_units(said: Decision, units: int) -> Decision:
    """What the store said, and what is held beside."""
    if said.remaining is None or not units:
        return said
    return said._replace(remaining=min(said.limit, said.remaining + units))


def _landed(call: Call) -> list[Flight]:
    """What others wait for; the leases of the call may be fetched by anybody now."""
    flights = []
    for part in filter(None, call.parts):
        if part.leads:
            if part.held.flight is not None:
                flights.append(part.held.flight)
            part.held.owner, part.held.flight = 0, None
    return flights
