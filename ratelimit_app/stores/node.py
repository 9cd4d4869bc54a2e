"""One server: its address, the wires to it, and a breaker of its own."""

import asyncio
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

from .awire import AsyncWire
from .bounded import bounded
from .breaker import Breaker
from .wire import Wire

#: Telling who we are, and the greeting of the third protocol, would be trips before the first one.
TERSE: dict[str, object] = (
    {"protocol": 2, "driver_info": None}
    if "driver_info" in signature(redis.connection.AbstractConnection.__init__).parameters
    else {"protocol": 2, "lib_name": None, "lib_version": None}
)

#: What belongs to one of the two worlds, or is ours to say.
_OURS = frozenset({"parser_class", "redis_connect_func", "event_dispatcher", "connection_pool"})

#: The asynchronous twins, the more special first.
_TWINS: tuple[tuple[Any, Any], ...] = (
    (redis.SSLConnection, redis.asyncio.SSLConnection),
    (redis.UnixDomainSocketConnection, redis.asyncio.UnixDomainSocketConnection),
    (redis.Connection, redis.asyncio.Connection),
)


def limits(timeout: float) -> dict[str, object]:
    """Options of every connection of ours.

    No retry, ever: a call whose answer was lost may have been charged already.
    """
    return {
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
        "retry": Retry(NoBackoff(), 0),
        "retry_on_error": [],
        "retry_on_timeout": False,
        **TERSE,
    }


@dataclass(frozen=True, slots=True)
class Address:
    """How to reach a server; see `wire.Way`."""

    connection_class: Any
    connection_kwargs: dict[str, Any]
    max_connections: int

    @classmethod
    def of(cls, pool: Any) -> "Address":
        """Where a pool leads."""
        return cls(pool.connection_class, dict(pool.connection_kwargs), pool.max_connections)

    @property
    def host(self) -> str:
        """The host; of a Unix socket, this one."""
        return str(self.connection_kwargs.get("host", "localhost"))

    @property
    def port(self) -> int:
        """The port."""
        return int(self.connection_kwargs.get("port", 6379))

    def to(self, host: str, port: int) -> "Address":
        """Another server that is reached in the same way."""
        options = {**self.connection_kwargs, "host": host, "port": port}
        # What a Sentinel pool adds, or a Unix socket has instead.
        for name in ("connection_pool", "path"):
            options.pop(name, None)
        secure = issubclass(self.connection_class, redis.SSLConnection)
        kind = redis.SSLConnection if secure else redis.Connection
        return replace(self, connection_class=kind, connection_kwargs=options)

    def twin(self) -> "Address":
        """The same for an event loop."""
        kind = next(twin for known, twin in _TWINS if issubclass(self.connection_class, known))
        known = {name for each in kind.__mro__ for name in signature(each.__init__).parameters}
        options = {
            name: value
            for name, value in self.connection_kwargs.items()
            if name in known and name not in _OURS
        }
        options["retry"] = AsyncRetry(NoBackoff(), 0)
        # `AsyncWire` bounds the whole of a call; redis-py would make a task for each write.
        options["socket_timeout"] = None
        return replace(self, connection_class=kind, connection_kwargs=options)


class Node:
    """The ways to one server: `wire` for threads, and one for each event loop."""

    def __init__(self, address: Address, timeout: float, deadline: float) -> None:
        self.address = address
        self.breaker = Breaker()
        way = replace(address, connection_class=bounded(address.connection_class))
        self.wire = Wire(way, timeout, deadline)
        self._timeout, self._deadline = timeout, deadline
        self._twin: Address | None = None
        self._loops: dict[asyncio.AbstractEventLoop, AsyncWire] = {}

    def here(self) -> AsyncWire:
        """The wire of the running event loop."""
        loop = asyncio.get_running_loop()
        wire = self._loops.get(loop)
        if wire is None:
            # A wire knows its loop, so a loop that ended would be kept for ever.
            # Listed first: other threads have loops of their own, and enter them here.
            for ended in [each for each in list(self._loops) if each.is_closed()]:
                self._loops.pop(ended, None)
            twin = self._twin = self._twin or self.address.twin()
            wire = self._loops[loop] = AsyncWire(
                lambda: twin.connection_class(**twin.connection_kwargs),
                twin.max_connections,
                self._timeout,
                self._deadline,
            )
        return wire
