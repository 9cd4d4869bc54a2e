"""Connections on which no wait outlasts a given moment, however the bytes drip.

A time-out of redis-py is one of each `recv`, and of each address of a host name: a server that
sends a byte now and then, or a name with many addresses, holds a call for as long as it likes.
"""

import math
import socket
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import redis


class Until:
    """A moment of the monotonic clock, shared by a connection and its socket."""

    __slots__ = ("at",)

    def __init__(self) -> None:
        self.at = math.inf


class _Socket:
    """A socket, or one of TLS, whose `recv` ends at the moment, or as ever if that is earlier."""

    def __init__(self, inner: Any, until: Until) -> None:
        self._inner = inner
        self.recv = _in_time(inner, inner.recv, until)
        self.recv_into = _in_time(inner, inner.recv_into, until)
        # What is called for every command costs no detour.
        self.sendall, self.fileno, self.settimeout = inner.sendall, inner.fileno, inner.settimeout
        self.pending = getattr(inner, "pending", int)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def _in_time(inner: Any, read: Callable[..., Any], until: Until) -> Callable[..., Any]:
    usual = inner.gettimeout()

    def bounded_read(*arguments: Any) -> Any:
        left = until.at - time.monotonic()
        if left >= usual:
            return read(*arguments)
        before = inner.gettimeout()
        # Nothing waits for less than a millisecond; 0 would mean another mode.
        inner.settimeout(min(before, max(0.001, left)))
        try:
            return read(*arguments)
        finally:
            inner.settimeout(before)

    return bounded_read


@cache
def bounded(kind: type[Any]) -> type[Any]:
    """The class of connections, with `until`, the moment at which every wait ends."""

    class Bounded(kind):  # type: ignore[misc]
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.until = Until()
            self._patience: float = self.socket_connect_timeout

        def _connect(self) -> Any:
            left = max(0.001, min(self._patience, self.until.at - time.monotonic()))
            self.socket_connect_timeout = left / _addresses(self)
            return _Socket(super()._connect(), self.until)

    return Bounded


def _addresses(connection: Any) -> int:
    """How many addresses are tried in turn."""
    if not isinstance(connection, redis.Connection):
        return 1
    found = socket.getaddrinfo(connection.host, connection.port, type=socket.SOCK_STREAM)
    return max(1, len(found))
