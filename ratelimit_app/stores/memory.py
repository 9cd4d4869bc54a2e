"""Buckets in this process: exact within it, bounded, and swept when idle.

It counts per process: three processes admit three times the limit. Use Redis to share.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence

from ratelimit_app.algorithms import Decision, Splice

from .base import Take, decision, spent
from .shards import Shard, Table

#: A shard holds some thousands: the dict of a larger one would take milliseconds to grow.
_SHARDS, _MOST_SHARDS, _SHARD = 16, 256, 8192
#: How many buckets a sweep looks at under one hold of a lock: well below a millisecond.
_SWEEP = 256
#: Seconds that a sweep rests after that.
_BREATH = 0.000_05


def clock() -> Callable[[], int]:
    """A clock in ms since the epoch that never steps: monotonic, set by the wall once."""
    offset = time.time_ns() - time.monotonic_ns()
    elapsed = time.monotonic_ns
    return lambda: (elapsed() + offset) // 1_000_000


class MemoryStore:
    """See `Store`. `now` gives milliseconds since the epoch; at most `most` buckets are kept."""

    processes = 1

    def __init__(
        self, most: int = 100_000, now: Callable[[], int] | None = None, name: str = "memory"
    ) -> None:
        self.name = name
        self.now = now or clock()
        #: A small store is not shared out: each part would hold next to nothing.
        self._spread = 1
        if most >= 64 * _SHARDS:
            self._spread = min(_MOST_SHARDS, max(_SHARDS, -(most // -_SHARD)))
        self._most = most // self._spread
        self._shards = [Shard() for _ in range(self._spread)]

    def __len__(self) -> int:
        return sum(shard.size for shard in self._shards)

    def take(
        self, takes: Sequence[Take], *, spend: bool = True, until: float | None = None
    ) -> list[Decision]:
        """See `Store.take`."""
        if len(takes) != 1:
            with self._locked(takes):
                return self._decide(takes, self.now(), spend)
        # A call of one bucket, which most are: no list of locks, and no call that can be spared.
        quota, identity, cost = take = takes[0]
        shard = self._shards[identity[0] % self._spread]
        table = shard.tables.get(quota.tag)
        state = None if table is None else table.states.get(identity)
        now = self.now()
        if state.__class__ is not bytearray:
            # What never changes in place can be read without the lock; a refusal ends here.
            new, allowed, remaining, retry, reset = quota.take(state, quota.limit, cost, now)
            if new is None or not spend:
                return [decision(quota, allowed, remaining, retry, reset, self.name)]
        with shard.lock:
            table = shard.tables.get(quota.tag)
            found = None if table is None else table.states.get(identity)
            if found is not state or state.__class__ is bytearray:
                # Read again, so that no state is older than the one that it replaces.
                now = self.now()
                new, allowed, remaining, retry, reset = quota.take(found, quota.limit, cost, now)
            if new is not None and spend:
                if table is None or found is None or new.__class__ is Splice:
                    shard.save(take, new)
                    if shard.size > self._most:
                        shard.evict(now)
                else:
                    table.quota, table.states[identity] = quota, new
        return [decision(quota, allowed, remaining, retry, reset, self.name)]

    async def atake(
        self, takes: Sequence[Take], *, spend: bool = True, until: float | None = None
    ) -> list[Decision]:
        """See `Store.atake`. It needs no trip, so it is answered here and now."""
        return self.take(takes, spend=spend)

    def give(
        self,
        takes: Sequence[Take],
        since: int | None = None,
        decisions: Sequence[Decision] = (),
    ) -> None:
        """See `Store.give`."""
        with self._locked(takes):
            now = self.now()
            for take, reset in spent(takes, decisions):
                self._give(take, now, now if since is None else since, reset)

    async def agive(
        self,
        takes: Sequence[Take],
        since: int | None = None,
        decisions: Sequence[Decision] = (),
    ) -> None:
        """See `Store.agive`."""
        self.give(takes, since, decisions)

    def reset(self, takes: Sequence[Take]) -> None:
        """See `Store.reset`."""
        with self._locked(takes):
            for take in takes:
                self._shard(take).forget(take)

    def beat(self) -> None:
        """See `Store.beat`."""

    def version(self) -> str | None:
        """See `Store.version`: other processes cannot be told through this memory."""
        return None

    def announce(self, token: str) -> None:
        """See `Store.announce`."""

    def sweep(self) -> None:
        """Let go of every bucket that is like a fresh one."""
        for shard in self._shards:
            with shard.lock:
                tables = [(table, list(table.states)) for table in shard.tables.values()]
            for table, identities in tables:
                for start in range(0, len(identities), _SWEEP):
                    with shard.lock:
                        self._sweep(shard, table, identities[start : start + _SWEEP])
                    # A thread that runs on keeps the interpreter for 5 ms: give way to requests.
                    time.sleep(_BREATH)
            with shard.lock:
                for tag in [tag for tag, table in shard.tables.items() if not table.states]:
                    del shard.tables[tag]

    def _sweep(self, shard: Shard, table: Table, identities: list[bytes]) -> None:
        now, quota = self.now(), table.quota
        for identity in identities:
            state = table.states.get(identity)
            if state is not None and quota.twin.expires(state, quota.limit) <= now:
                shard.drop(table, identity)

    def _decide(self, takes: Sequence[Take], now: int, spend: bool) -> list[Decision]:
        outcomes = []
        refused = False
        for take in takes:
            quota, _, cost = take
            outcome = quota.take(self._shard(take).load(take), quota.limit, cost, now)
            outcomes.append(outcome)
            refused = refused or not (outcome[1] or quota.shadow)
        decisions = []
        for take, (state, allowed, *numbers) in zip(takes, outcomes, strict=True):
            quota, _, cost = take
            shard = self._shard(take)
            remaining, retry, reset = numbers
            if allowed and refused and cost:
                # Spends nothing: show the bucket as it stays.
                _, _, remaining, _, reset = quota.take(shard.load(take), quota.limit, 0, now)
            elif state is not None and spend:
                shard.save(take, state)
            decisions.append(decision(quota, allowed, remaining, retry, reset, self.name))
        for take in takes:
            # Only now: no bucket of this call may go while the call is being saved.
            shard = self._shard(take)
            while shard.size > self._most:
                shard.evict(now)
        return decisions

    def _give(self, take: Take, now: int, since: int, reset: int) -> None:
        quota, shard = take.quota, self._shard(take)
        given = quota.twin.give(shard.load(take), quota.limit, take.cost, now, since, reset)
        if given is None:
            return
        state, left = given
        if left:
            shard.save(take, state)
        else:
            shard.forget(take)

    def _shard(self, take: Take) -> Shard:
        return self._shards[take.identity[0] % self._spread]

    @contextlib.contextmanager
    def _locked(self, takes: Sequence[Take]) -> Iterator[None]:
        """Hold the locks of all shards concerned, in one order for everybody."""
        with contextlib.ExitStack() as stack:
            for index in sorted({take.identity[0] % self._spread for take in takes}):
                stack.enter_context(self._shards[index].lock)
            yield
