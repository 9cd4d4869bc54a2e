"""A row of the table: contenders that differ in one thing, and what is asked of ours."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from benchmarks.measure import Spread, Timed
from benchmarks.peers import Peer
from tests.servers import RedisServer


class Goal(NamedTuple):
    """The contender costs (or adds) at most `most` times what `of` does."""

    contender: str
    most: float
    of: str


@dataclass(frozen=True, slots=True)
class Contender:
    """What is timed. `over`: the contender whose cost is taken off, to see what is added."""

    timed: Timed
    over: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """The first contender is the reference that ratios are taken of."""

    name: str
    title: str
    #: The one thing in which the contenders differ.
    varies: str
    contenders: Mapping[str, Contender]
    goals: tuple[Goal, ...] = field(default=())


class Result(NamedTuple):
    """What a row came to, on one core or across two."""

    row: Row
    placed: str
    times: Mapping[str, Spread]

    def added(self, name: str) -> float:
        """What a contender adds to the one that it stands on; microseconds."""
        over = self.row.contenders[name].over
        return self.times[name].median - (self.times[over].median if over else 0)

    def ratio(self, name: str) -> float:
        """Of the reference; of its addition where the row measures additions."""
        names = [each for each in self.times if self.row.contenders[each].over]
        reference = names[0] if names else next(iter(self.times))
        return self.added(name) / self.added(reference)

    def reached(self, goal: Goal) -> tuple[float, bool] | None:
        """The ratio that the goal is about, and whether it is kept; None if one is missing."""
        if not {goal.contender, goal.of} <= set(self.times):
            return None
        found = self.added(goal.contender) / self.added(goal.of)
        return found, found <= goal.most


@dataclass(frozen=True, slots=True)
class Bench:
    """What a row is built from; `stack` holds its settings until it is measured."""

    server: RedisServer
    peers: Mapping[str, Peer]
    stack: ExitStack


Maker: TypeAlias = Callable[[Bench], Row]
