"""Denials without a trip: what the store has just refused is refused here, while its wait is known.

A client is refused here until the store would admit it, or for a second, whichever is sooner,
counted from when the refused call was sent. So this refuses nobody whom the store would admit, save
that a reset, a refund or an edit by another process is obeyed within that second.
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ratelimit_app.algorithms import BUCKETS, NEVER, Decision, Limit

from .base import Store, Take, decision, unasked
from .before import Before

_MS = 1_000_000
#: How long a denial is believed, in nanoseconds.
_SECOND = 1000 * _MS
#: How many denials are kept: more clients than a process can ask the store about in a second.
_MOST = 20_000


class Denial(NamedTuple):
    """What the store said of a bucket that refused; instants are nanoseconds of our clock."""

    limit: Limit
    cost: int
    until: int
    #: When the cost will fit, at the latest; None: never.
    fits: int | None
    #: When the bucket will be like a fresh one, at the latest.
    fresh: int
    remaining: int


class NearStore(Before):
    """See `Store`. Remembers what `store` refuses; whoever only looks is told by the store itself.

    `now` gives nanoseconds of a clock that never steps; at most `most` denials are kept.
    """

    def __init__(
        self, store: Store, now: Callable[[], int] = time.monotonic_ns, most: int = _MOST
    ) -> None:
        super().__init__(store)
        self._now = now
        self._half = max(1, most // 2)
        # Two generations. The older one is let go of whole, by when all in it is over: nothing
        # need be looked for to make room.
        self._young: dict[tuple[str, bytes], Denial] = {}
        self._old: dict[tuple[str, bytes], Denial] = {}
        self._turned = now()

    def take(
        self, takes: Sequence[Take], *, spend: bool = True, until: float | None = None
    ) -> list[Decision]:
        """See `Store.take`. Beside a bucket that refuses without a trip `remaining` is None."""
        if not spend:
            return self.store.take(takes, spend=False, until=until)
        if (known := self._known(takes)) is not None:
            return known
        sent = self._now()
        decisions = self.store.take(takes, until=until)
        self._learn(takes, decisions, sent)
        return decisions

    async def atake(
        self, takes: Sequence[Take], *, spend: bool = True, until: float | None = None
    ) -> list[Decision]:
        """See `Store.atake`. What needs no trip is answered here and now."""
        if not spend:
            return await self.store.atake(takes, spend=False, until=until)
        if (known := self._known(takes)) is not None:
            return known
        sent = self._now()
        decisions = await self.store.atake(takes, until=until)
        self._learn(takes, decisions, sent)
        return decisions

    def give(
        self,
        takes: Sequence[Take],
        since: int | None = None,
        decisions: Sequence[Decision] = (),
    ) -> None:
        """See `Store.give`."""
        super().give(takes, since, decisions)
        self._forget(takes)

    async def agive(
        self,
        takes: Sequence[Take],
        since: int | None = None,
        decisions: Sequence[Decision] = (),
    ) -> None:
        """See `Store.agive`."""
        await super().agive(takes, since, decisions)
        self._forget(takes)

    def reset(self, takes: Sequence[Take]) -> None:
        """See `Store.reset`."""
        super().reset(takes)
        self._forget(takes)

    def _known(self, takes: Sequence[Take]) -> list[Decision] | None:
        """The answer to a call that the store would refuse as a whole; None: it must be asked."""
        if not (self._young or self._old):
            return None
        now = self._now()
        told = [self._told(take, now) for take in takes]
        if not any(told) or any(take.quota.ask_always for take in takes):
            return None
        return [
            said or unasked(quota, "near") for said, (quota, _, _) in zip(told, takes, strict=True)
        ]

    def _told(self, take: Take, now: int) -> Decision | None:
        quota, _, cost = take
        denial = self._find(take)
        if denial is None or now >= denial.until or cost < denial.cost or quota.shadow:
            return None
        if denial.limit != quota.limit:
            # An edit: other numbers may have changed the bucket since.
            self._forget([take])
            return None
        more = _longer(take, denial.cost)
        if more is None:
            return None
        wait = NEVER
        if denial.fits is not None and cost <= quota.limit.burst:
            wait = _ms(denial.fits - now) + more
        reset = max(0, _ms(denial.fresh - now))
        return decision(quota, False, denial.remaining, wait, reset, "near")

    def _learn(self, takes: Sequence[Take], decisions: Sequence[Decision], sent: int) -> None:
        for take, said in zip(takes, decisions, strict=True):
            if not said.allowed:
                self._remember(take, said, sent)
            elif take.cost and (self._young or self._old):
                # Who has spent since waits longer for a higher cost than was said.
                self._forget([take])

    def _remember(self, take: Take, said: Decision, sent: int) -> None:
        quota, identity, cost = take
        if quota.shadow or quota.ask_always or said.remaining is None:
            return
        received = self._now()
        known = self._find(take)
        if known and known.cost < cost and known.limit == quota.limit and received < known.until:
            # What is known of a lower cost is worth more.
            return
        until, fits = sent + _SECOND, None
        if said.retry_after is not None:
            wait = round(said.retry_after * 1000) * _MS
            # The store's clock was read between the two. Refused from the earlier one on, nobody
            # is kept out for longer; told from the later one on, nobody comes back too early.
            until, fits = min(until, sent + wait), received + wait
        fresh = received + round(said.reset_after * 1000) * _MS
        if len(self._young) >= self._half or received - self._turned > _SECOND:
            self._old, self._young, self._turned = self._young, {}, received
        self._young[quota.tag, identity] = Denial(
            quota.limit, cost, until, fits, fresh, said.remaining
        )

    def _find(self, take: Take) -> Denial | None:
        key = take.quota.tag, take.identity
        return self._young.get(key) or self._old.get(key)

    def _forget(self, takes: Sequence[Take]) -> None:
        for quota, identity, _ in takes:
            self._young.pop((quota.tag, identity), None)
            self._old.pop((quota.tag, identity), None)


def _longer(take: Take, refused: int) -> int | None:
    """How many ms longer a take waits than one of the lower cost that was `refused`.

    None where that does not follow from the numbers alone.
    """
    quota, _, cost = take
    rate, period, burst = quota.limit
    if cost == refused or cost > burst or quota.algorithm == "fixed_window":
        return 0
    if quota.algorithm not in BUCKETS:
        return None
    more, rest = divmod((cost - refused) * period, rate)
    return None if rest else more


def _ms(nanoseconds: int) -> int:
    return -(nanoseconds // -_MS)
