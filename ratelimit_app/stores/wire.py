"""Connections to one Redis, held open and handed from call to call; a command costs one trip.

redis-py's own client spends more time in Python on a call than Redis and the kernel do together.
This uses its connections (parser, TLS and all) and leaves the client out.
"""

import threading
import time
from collections import deque
from typing import Any, Protocol

import redis

from .encoding import encoded

#: How long a call waits for a connection while as many as are allowed are in use: seconds.
_WAIT = 0.05


class Way(Protocol):
    """How connections are made, and how many there may be; a pool of redis-py says it too."""

    @property
    def connection_class(self) -> Any:
        """Made with these options."""
        ...

    @property
    def connection_kwargs(self) -> Any:
        """Of every connection."""
        ...

    @property
    def max_connections(self) -> int:
        """At the same time."""
        ...


class Wire:
    """Calls over connections that are made in this way.

    Safe among threads; make a new one after a fork. `deadline` bounds a call with everything that
    it needs, in seconds.
    """

    def __init__(self, way: Way, timeout: float, deadline: float) -> None:
        self._way = way
        self._deadline = deadline
        self._in_time = deadline - timeout
        self._idle: deque[Any] = deque()
        self._open = 0
        self._waiting = 0
        self._freed = threading.Condition()

    def call(self, *command: Any, until: float | None = None, asking: bool = False) -> Any:
        """Send a command once and return its reply; raises what redis-py raises.

        `until` is the moment of the monotonic clock at which it must have ended. `asking` is what
        a node of a cluster wants to hear from who was sent on to it.
        """
        until = until or time.monotonic() + self._deadline
        connection = self._take(until)
        try:
            connection.until.at = until
            if asking:
                connection.send_command("ASKING", check_health=False)
                connection.read_response()
            connection.send_packed_command(encoded(connection, command), check_health=False)
            reply = connection.read_response()
        except redis.ResponseError as error:
            if not isinstance(error, redis.exceptions.ReadOnlyError):
                self._give(connection)
                raise
            # It leads to what is a replica by now: the next one may lead to the primary.
            self._drop(connection)
            self.hang_up()
            raise
        except BaseException:
            # What is still to be read would be the answer to somebody else's question. The other
            # idle connections lead to the same host, and each would cost a time-out of its own.
            self._drop(connection)
            self.hang_up()
            raise
        self._give(connection)
        return reply

    @property
    def usage(self) -> tuple[int, int, int]:
        """How many connections are open, how many of them idle, and how many there may be."""
        return self._open, len(self._idle), self._way.max_connections

    def hang_up(self) -> None:
        """Close the idle connections."""
        while True:
            try:
                self._drop(self._idle.pop())
            except IndexError:
                return

    def _take(self, until: float) -> Any:
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._new(until)
        else:
            # A server that was restarted has closed it: better seen before the question is put.
            if not _has_something(connection):
                return connection
            connection.disconnect()
        started = time.monotonic()
        try:
            connection.until.at = until
            connection.connect()
            ended = time.monotonic()
            if ended - started > self._in_time or ended >= until:
                # The question itself could no longer be answered in time.
                raise redis.TimeoutError("Connecting took too long")
        except BaseException:
            self._drop(connection)
            raise
        return connection

    def _new(self, until: float) -> Any:
        with self._freed:
            self._waiting += 1
            try:
                wait = min(_WAIT, until - time.monotonic())
                if (found := self._freed.wait_for(self._free, wait)) is not None:
                    return found
            finally:
                self._waiting -= 1
        raise redis.exceptions.MaxConnectionsError("All connections are in use")

    def _free(self) -> Any:
        """A connection that is idle, or a new one if there may be one more."""
        try:
            return self._idle.pop()
        except IndexError:
            if self._open >= self._way.max_connections:
                return None
        made = self._way.connection_class(**self._way.connection_kwargs)
        self._open += 1
        return made

    def _give(self, connection: Any) -> None:
        self._idle.append(connection)
        if self._waiting:
            with self._freed:
                self._freed.notify()

    def _drop(self, connection: Any) -> None:
        connection.disconnect()
        with self._freed:
            self._open -= 1
            self._freed.notify()


def _has_something(connection: Any) -> bool:
    """Whether there is something to read where nothing should be, or an end."""
    try:
        return bool(connection.can_read(0))
    except (redis.ConnectionError, OSError):
        return True
