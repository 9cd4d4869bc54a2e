"""What the algorithms share: the numbers of a limit, one bucket's answer, and the contract."""

from typing import Any, NamedTuple, Protocol, TypeAlias

#: Whole numbers up to here are exact in Lua's doubles; every product of ours stays below.
EXACT = 2**53

#: The wait of a cost that can never fit.
NEVER = -1


class Limit(NamedTuple):
    """The numbers of a policy: `limit` units per `period` milliseconds, at most `burst` at once.

    `burst` is the capacity. The three buckets may set it apart from `limit`; for windows both
    are the same number.
    """

    limit: int
    period: int
    burst: int


class Decision(NamedTuple):
    """The answer for one bucket; times are seconds from now.

    `limit` is the capacity, `remaining` what is left of it. `retry_after` is 0 when allowed and
    None when the cost can never fit; `reset_after` is 0 when nothing is spent. `remaining` is None
    when nobody could be asked: a number would be an invention. `source` says where the decision
    was made: the store's name, `near` (the store refused a moment ago and was not asked again),
    `lease` (spent of what was taken before), `policy` (off, or a limit of 0), or `error`.
    """

    allowed: bool
    limit: int
    remaining: int | None
    retry_after: float | None
    reset_after: float
    policy: str = ""
    source: str = ""
    delay: float = 0.0


class Splice(NamedTuple):
    """A change to a part of a state held in place, so that a long state is never copied whole."""

    pieces: tuple[tuple[int, bytes], ...]

    def into(self, state: bytearray) -> None:
        """Write each piece at its offset of `state`, in bytes."""
        for offset, piece in self.pieces:
            state[offset : offset + len(piece)] = piece


#: What a bucket holds; each algorithm knows its own.
State: TypeAlias = Any

#: New state (None: leave the old one), allowed, remaining, retry_after and reset_after in
#: milliseconds. A plain tuple: one is made for every bucket of every request.
Taken: TypeAlias = tuple[State | None, bool, int, int, int]

#: New state and its reset_after in milliseconds (0: it is like a fresh bucket, and may go).
Given: TypeAlias = tuple[State, int]


class Algorithm(Protocol):
    """A module with three pure functions; its twin in Lua has the same stem.

    The twin is one function, which gives when it is told since when.
    """

    def take(self, state: State | None, limit: Limit, cost: int, now: int, /) -> Taken:
        """Ask for `cost` units at `now`, in milliseconds since the epoch.

        A state comes back with an admission of a cost above 0, and with a refusal only to mend a
        bucket whose time lies beyond what its numbers allow.
        """
        ...

    def give(
        self, state: State | None, limit: Limit, cost: int, now: int, since: int, reset: int, /
    ) -> Given | None:
        """Give back `cost` units (1 or more) that a take got at `since`, when it said `reset`.

        `now`, `since` and `reset` (its reset_after; 0 if unknown) are milliseconds. While the clock
        runs forward and nobody edits the limit, the bucket never has more room than if these units
        had not been taken, whatever others took. It has as much, save that one of the three buckets
        lacks what it replenished since, at most, where the take found less than that spent.
        None: there is nothing to give back.
        """
        ...

    def expires(self, state: State, limit: Limit, /) -> int:
        """The millisecond from which a bucket with this state is like a fresh one."""
        ...
