"""Buckets in this process: exact within it, bounded, and swept when idle.

It counts per process: three processes admit three times the limit. Use Redis to share.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from threading import Lock

from ratelimit_app.algorithms import Decision, Splice, State

from .base import Quota, Take, decision

_SHARDS = 16
#: How many buckets are looked at to find one to let go of, when a shard is full.
_SAMPLE = 5
#: How many buckets a sweep looks at under one hold of a lock: well below a millisecond.
_SWEEP = 256


def clock() -> Callable[[], int]:
    """A clock in ms since the epoch that never steps: monotonic, set by the wall once."""
    offset = time.time_ns() - time.monotonic_ns()
    return lambda: (time.monotonic_ns() + offset) // 1_000_000


class _Table:
    """The buckets of one quota in one shard; the quota is the last one seen, for its expiry."""

    __slots__ = ("quota", "states")

    def __init__(self, quota: Quota) -> None:
        self.quota = quota
        self.states: dict[bytes, State] = {}

    def expires(self, state: State) -> int:
        return self.quota.twin.expires(state, self.quota.limit)


class _Shard:
    """A share of the identities, behind one lock."""

    __slots__ = ("lock", "size", "tables")

    def __init__(self) -> None:
        self.lock = Lock()
        self.tables: dict[str, _Table] = {}
        self.size = 0

    def load(self, take: Take) -> State | None:
        table = self.tables.get(take.quota.tag)
        return None if table is None else table.states.get(take.identity)

    def save(self, take: Take, state: State) -> None:
        quota, identity, _ = take
        table = self.tables.get(quota.tag)
        if table is None:
            table = self.tables[quota.tag] = _Table(quota)
        table.quota = quota
        if isinstance(state, Splice):
            state.into(table.states[identity])
            return
        if identity not in table.states:
            self.size += 1
        table.states[identity] = state

    def drop(self, table: _Table, identity: bytes) -> None:
        if table.states.pop(identity, None) is None:
            return
        self.size -= 1
        if not table.states:
            # A dict keeps its room when its items go: start a new one.
            table.states = {}

    def evict(self, now: int) -> None:
        """Let go of what is nearest to replenished in a sample of the largest table.

        The rest of the sample moves to the end, so that the next sample is another one.
        """
        table = max(self.tables.values(), key=lambda each: len(each.states))
        sample = list(islice(table.states.items(), _SAMPLE))
        sample.sort(key=lambda item: table.expires(item[1]))
        gone = max(1, sum(table.expires(state) <= now for _, state in sample))
        for identity, _ in sample[:gone]:
            self.drop(table, identity)
        for identity, state in sample[gone:]:
            del table.states[identity]
            table.states[identity] = state


class MemoryStore:
    """See `Store`. `now` gives milliseconds since the epoch; at most `most` buckets are kept."""

    name = "memory"

    def __init__(self, most: int = 100_000, now: Callable[[], int] | None = None) -> None:
        self.now = now or clock()
        self._most = max(1, most // _SHARDS)
        self._shards = [_Shard() for _ in range(_SHARDS)]

    def __len__(self) -> int:
        return sum(shard.size for shard in self._shards)

    def take(self, takes: Sequence[Take], *, spend: bool = True) -> list[Decision]:
        """See `Store.take`."""
        if len(takes) == 1:
            return [self._take_one(takes[0], spend)]
        with self._locked(takes):
            return self._decide(takes, self.now(), spend)

    async def atake(self, takes: Sequence[Take], *, spend: bool = True) -> list[Decision]:
        """See `Store.atake`. It needs no trip, so it is answered here and now."""
        return self.take(takes, spend=spend)

    def reset(self, takes: Sequence[Take]) -> None:
        """See `Store.reset`."""
        with self._locked(takes):
            for take in takes:
                shard = self._shard(take)
                table = shard.tables.get(take.quota.tag)
                if table is not None:
                    shard.drop(table, take.identity)

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
            with shard.lock:
                for tag in [tag for tag, table in shard.tables.items() if not table.states]:
                    del shard.tables[tag]

    def _sweep(self, shard: _Shard, table: _Table, identities: list[bytes]) -> None:
        now = self.now()
        for identity in identities:
            state = table.states.get(identity)
            if state is not None and table.expires(state) <= now:
                shard.drop(table, identity)

    def _take_one(self, take: Take, spend: bool) -> Decision:
        """A call of one bucket, which most are, needs no list of locks and no second look."""
        quota, identity, cost = take
        shard = self._shards[identity[0] % _SHARDS]
        with shard.lock:
            now = self.now()
            table = shard.tables.get(quota.tag)
            state = None if table is None else table.states.get(identity)
            state, allowed, remaining, retry, reset = quota.twin.take(state, quota.limit, cost, now)
            if state is not None and spend:
                shard.save(take, state)
                if shard.size > self._most:
                    shard.evict(now)
        return decision(quota, allowed, remaining, retry, reset, self.name)

    def _decide(self, takes: Sequence[Take], now: int, spend: bool) -> list[Decision]:
        outcomes = []
        refused = False
        for take in takes:
            quota, _, cost = take
            outcome = quota.twin.take(self._shard(take).load(take), quota.limit, cost, now)
            outcomes.append(outcome)
            refused = refused or not (outcome[1] or quota.shadow)
        decisions = []
        for take, (state, allowed, *numbers) in zip(takes, outcomes, strict=True):
            quota, _, cost = take
            shard = self._shard(take)
            remaining, retry, reset = numbers
            if allowed and refused and cost:
                # Spends nothing: show the bucket as it stays.
                _, _, remaining, _, reset = quota.twin.take(shard.load(take), quota.limit, 0, now)
            elif state is not None and spend:
                shard.save(take, state)
            decisions.append(decision(quota, allowed, remaining, retry, reset, self.name))
        for take in takes:
            # Only now: no bucket of this call may go while the call is being saved.
            shard = self._shard(take)
            while shard.size > self._most:
                shard.evict(now)
        return decisions

    def _shard(self, take: Take) -> _Shard:
        return self._shards[take.identity[0] % _SHARDS]

    @contextlib.contextmanager
    def _locked(self, takes: Sequence[Take]) -> Iterator[None]:
        """Hold the locks of all shards concerned, in one order for everybody."""
        with contextlib.ExitStack() as stack:
            for index in sorted({take.identity[0] % _SHARDS for take in takes}):
                stack.enter_context(self._shards[index].lock)
            yield
