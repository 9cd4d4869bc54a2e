"""The primary of a service, as its Sentinels see it."""

from typing import Any

from .base import Unavailable
from .clients import Clients
from .node import Node
from .steps import Steps, ask
from .topology import PAUSE, Due, half, host_name, in_turn


class Sentinels:
    """See `Topology`. A Sentinel that hangs is asked last, and soon not at all."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._primary: Node | None = None
        self._due = Due(max(PAUSE, clients.deadline))

    def slot(self, key: str) -> int:
        """There is one server, and so one slot."""
        return 0

    def look(self, until: float) -> Steps[None]:
        """See `Topology.look`."""
        if not self._due.now():
            return
        command = ("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self._clients.service)
        for sentinel in in_turn(self._clients.sentinels):
            try:
                host, port = yield from ask(sentinel, *command, until=half(until))
                primary = self._clients.at(host_name(host), int(port))
            except Exception:
                # It is not there, or does not know, or is no Sentinel; the next one may be.
                primary = None
            if primary is not None:
                if self._primary not in (None, primary):
                    # What was opened to the old one leads to a replica, or to nothing.
                    self._primary.wire.hang_up()
                self._primary = primary
                return
        self._due.soon()

    def call(self, slot: int, *command: Any, until: float) -> Steps[Any]:
        """See `Topology.call`."""
        for _ in range(2):
            yield from self.look(until)
            primary = self._primary
            if primary is None:
                self._due.soon()
                raise Unavailable(f"no Sentinel knows {self._clients.service!r}; look at SENTINELS")
            try:
                return (yield from ask(primary, *command, until=until))
            except Unavailable as error:
                self._due.soon()
                # A replica by now, so that nothing was written: there may be another already.
                if error.kind != "readonly":
                    raise
                failed = error
        raise failed
