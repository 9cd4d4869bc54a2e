"""Which server has a bucket: the one that the alias names, unless that says otherwise.

See `cluster` and `sentinel` for more than one. They ask nothing before the first call, and then
only when an answer, or none, says that what is known is out of date: at most one call at a time, a
few times a second, and within its deadline.
"""

import random
import time
from collections.abc import Sequence
from typing import Any, Protocol

from .clients import Clients
from .faults import CLUSTER
from .node import Node
from .steps import Steps, ask

#: Seconds between two questions after who has what.
PAUSE = 0.25


class Elsewhere(Exception):
    """The server is a node of a cluster, and did nothing."""


class Topology(Protocol):
    """Where commands go."""

    def look(self, until: float) -> Steps[None]:
        """Learn who has what, if that is due."""
        ...

    def slot(self, key: str) -> int:
        """Keys of one slot may stand in one command."""
        ...

    def call(self, slot: int, *command: Any, until: float) -> Steps[Any]:
        """The reply of who has the slot.

        Raises `Unavailable`; `NoScriptError`; `TryAgainError` for a slot that is being moved.
        """
        ...


class One:
    """One server, as far as is known; see `Topology`."""

    def __init__(self, clients: Clients) -> None:
        self._node = clients.node

    def slot(self, key: str) -> int:
        """All keys are in one."""
        return 0

    def look(self, until: float) -> Steps[None]:
        """There is nothing to learn."""
        yield from ()

    def call(self, slot: int, *command: Any, until: float) -> Steps[Any]:
        """See `Topology.call`. Raises `Elsewhere`."""
        try:
            return (yield from ask(self._node, *command, until=until))
        except CLUSTER as error:
            raise Elsewhere from error


def in_turn(nodes: Sequence[Node]) -> list[Node]:
    """Whom to ask, in which order: the first, then the others by chance; who failed comes last."""
    first, *others = dict.fromkeys(nodes)
    random.shuffle(others)
    return sorted([first, *others], key=lambda node: node.breaker.suspect)


def half(until: float) -> float:
    """Half of the time that is left: the rest is for the command itself."""
    now = time.monotonic()
    return now + (until - now) / 2


def text(value: bytes | str | None) -> str:
    """What a server calls a host."""
    return value.decode() if isinstance(value, bytes) else value or ""
