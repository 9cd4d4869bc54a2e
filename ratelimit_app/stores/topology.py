"""Which server has a bucket: the one that the alias names, unless that says otherwise.

See `cluster` and `sentinel` for more than one. They ask nothing before the first call, and then
only when an answer, or none, says that what is known is out of date: at most one call at a time, a
few times a second, and within its deadline.
"""

import random
import threading
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


class Due:
    """Something that is done now and then, by one call at a time, once it was asked for."""

    def __init__(self, pause: float) -> None:
        self._pause = pause
        self._wanted = True
        self._next = 0.0
        self._lock = threading.Lock()

    def soon(self) -> None:
        """Ask for it."""
        self._wanted = True

    def now(self) -> bool:
        """Whether this call has to do it; the next one may after a pause."""
        if not self._wanted:
            return False
        with self._lock:
            now = time.monotonic()
            if now < self._next:
                return False
            self._wanted, self._next = False, now + self._pause
            return True


def in_turn(nodes: Sequence[Node]) -> list[Node]:
    """Whom to ask, in which order: the first, then the others by chance; who failed comes last."""
    first, *others = dict.fromkeys(nodes)
    random.shuffle(others)
    return sorted([first, *others], key=lambda node: node.breaker.suspect)


def half(until: float) -> float:
    """Half of the time that is left: the rest is for the command itself."""
    now = time.monotonic()
    return now + (until - now) / 2


def host_name(value: bytes | str | None) -> str:
    """A host as a server names it; '' for none."""
    return value.decode() if isinstance(value, bytes) else value or ""
