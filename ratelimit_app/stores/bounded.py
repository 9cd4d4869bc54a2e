"""Connections on which no wait outlasts a given moment, however the bytes drip.

A time-out of redis-py is one of each `recv`, and of each address of a host name: a server that
sends a byte now and then, or a name with many addresses, holds a call for as long as it likes.
"""

import math
import socket
import time
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
        self._inner, self._until, self._usual = inner, until, inner.gettimeout() or math.inf
        # What is called for every command costs no detour.
        self.sendall, self.fileno, self.settimeout = inner.sendall, inner.fileno, inner.settimeout
        self._recv_into = inner.recv_into
        self.pending = getattr(inner, "pending", _nothing)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def recv(self, *arguments: Any) -> Any:
        left = self._until.at - time.monotonic()
        return self._in_time(left, self._inner.recv, *arguments)

    def recv_into(self, buffer: Any) -> Any:
        left = self._until.at - time.monotonic()
        if left >= self._usual:
            return self._recv_into(buffer)
        return self._in_time(left, self._recv_into, buffer)

    def _in_time(self, left: float, read: Any, *arguments: Any) -> Any:
        if left >= self._usual:
            return read(*arguments)
        usual = self._inner.gettimeout()
        # Nothing waits for less than a millisecond; 0 would mean another mode.
        self._inner.settimeout(min(usual, max(0.001, left)))
        try:
            return read(*arguments)
        finally:
            self._inner.settimeout(usual)


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


def _nothing() -> int:
    return 0
