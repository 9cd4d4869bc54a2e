"""Connections to one Redis, held open and handed from call to call; a command costs one trip.

redis-py's own client spends more time in Python on a call than Redis and the kernel do together.
This uses its connections (parser, TLS, Sentinel and all) and leaves the client out.
"""

import threading
import time
from collections import deque
from typing import Any

import redis

#: How long a call waits for a connection while as many as are allowed are in use: seconds.
_WAIT = 0.05


class Wire:
    """Calls over the connections that `pool` would make, at most as many as it would.

    The pool itself stays empty: it is a description. Safe among threads; make a new one after a
    fork. `deadline` bounds a call with everything that it needs, in seconds.
    """

    def __init__(self, pool: redis.ConnectionPool, timeout: float, deadline: float) -> None:
        self._pool = pool
        self._in_time = deadline - timeout
        self._idle: deque[Any] = deque()
        self._open = 0
        self._waiting = 0
        self._freed = threading.Condition()

    def call(self, *command: Any) -> Any:
        """Send a command once and return its reply; raises what redis-py raises."""
        connection = self._take()
        try:
            packed = connection.pack_command(*command)
            connection.send_packed_command(packed, check_health=False)
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
        return self._open, len(self._idle), self._pool.max_connections

    def hang_up(self) -> None:
        """Close the idle connections."""
        while True:
            try:
                self._drop(self._idle.pop())
            except IndexError:
                return

    def _take(self) -> Any:
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._new()
        else:
            # A server that was restarted has closed it: better seen before the question is put.
            if not _has_something(connection):
                return connection
            connection.disconnect()
        started = time.monotonic()
        try:
            connection.connect()
            if time.monotonic() - started > self._in_time:
                # The question itself could no longer be answered in time.
                raise redis.TimeoutError("Connecting took too long")
        except BaseException:
            self._drop(connection)
            raise
        return connection

    def _new(self) -> Any:
        with self._freed:
            self._waiting += 1
            try:
                if (found := self._freed.wait_for(self._free, _WAIT)) is not None:
                    return found
            finally:
                self._waiting -= 1
        raise redis.exceptions.MaxConnectionsError("All connections are in use")

    def _free(self) -> Any:
        """A connection that is idle, or a new one if there may be one more."""
        try:
            return self._idle.pop()
        except IndexError:
            if self._open >= self._pool.max_connections:
                return None
        made = self._pool.connection_class(**self._pool.connection_kwargs)
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
