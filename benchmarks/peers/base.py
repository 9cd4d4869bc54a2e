"""The contract of a contender: a library, used in the way that its own documentation shows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from benchmarks.policies import Rate

Where: TypeAlias = Literal["memory", "redis"]


class Place(NamedTuple):
    """Where buckets live; `where` is also the alias of the site's cache there."""

    where: Where
    url: str


class Told(NamedTuple):
    """What an answer says; `wait` is seconds, None if the library does not say."""

    admitted: bool
    wait: float | None


#: One decision about the client of this key; the answer is whatever the library returns.
Taker: TypeAlias = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Door:
    """A site with the library before a bare view: under which settings, and what it answers.

    `over` is the bare request that its addition is measured against.
    """

    view: Callable[..., Any]
    middleware: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    over: Literal["bare view", "bare DRF view"] = "bare view"


class Peer(Protocol):
    """See each for what it is given and what it leaves out."""

    #: What it decides by: a comparison is fair among those that decide alike.
    algorithm: str
    places: Sequence[Where]

    def taker(self, place: Place, rate: Rate) -> Taker:
        """A function that decides, with all that can be built beforehand built."""
        ...

    def told(self, answer: Any) -> Told:
        """Reads the answer; never timed."""
        ...

    def door(self, place: Place, rate: Rate) -> Door | None:
        """None for a library that has no way into Django."""
        ...
