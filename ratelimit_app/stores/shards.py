"""A share of the buckets in memory: tables of one quota each, behind one lock."""

from itertools import islice
from threading import Lock

from ratelimit_app.algorithms import Splice, State

from .base import Quota, Take

#: How many buckets are looked at to find one to let go of, when a shard is full.
_SAMPLE = 5


class Table:
    """The buckets of one quota in one shard; the quota is the last one seen, for its expiry."""

    __slots__ = ("quota", "states")

    def __init__(self, quota: Quota) -> None:
        self.quota = quota
        self.states: dict[bytes, State] = {}


class Shard:
    """A share of the identities, behind one lock."""

    __slots__ = ("lock", "size", "tables")

    def __init__(self) -> None:
        self.lock = Lock()
        self.tables: dict[str, Table] = {}
        self.size = 0

    def load(self, take: Take) -> State | None:
        table = self.tables.get(take.quota.tag)
        return None if table is None else table.states.get(take.identity)

    def save(self, take: Take, state: State) -> None:
        quota, identity, _ = take
        table = self.tables.get(quota.tag)
        if table is None:
            table = self.tables[quota.tag] = Table(quota)
        table.quota = quota
        states = table.states
        if state.__class__ is Splice:
            state.into(states[identity])
        elif identity in states:
            states[identity] = state
        else:
            states[identity] = state
            self.size += 1

    def forget(self, take: Take) -> None:
        table = self.tables.get(take.quota.tag)
        if table is not None:
            self.drop(table, take.identity)

    def drop(self, table: Table, identity: bytes) -> None:
        if table.states.pop(identity, None) is None:
            return
        self.size -= 1
        if not table.states:
            # A dict keeps its room when its items go: start a new one.
            table.states = {}

    def evict(self, now: int) -> None:
        """Let go of who has most left in a sample of the largest table, and of all that are fresh.

        By expiry alone a flood of new clients would wash out those who have used up their limit.
        The rest of the sample moves to the end, so that the next sample is another one.
        """
        table = max(self.tables.values(), key=lambda each: len(each.states))
        quota, sample = table.quota, []
        for identity, state in islice(table.states.items(), _SAMPLE):
            _, _, remaining, _, reset = quota.take(state, quota.limit, 0, now)
            sample.append((-remaining, reset, identity))
        sample.sort()
        gone = max(1, sum(reset == 0 for _, reset, _ in sample))
        for _, _, identity in sample[:gone]:
            self.drop(table, identity)
        for _, _, identity in sample[gone:]:
            table.states[identity] = table.states.pop(identity)
