"""The async twin of `wire`: connections of one event loop, closed when it ends."""

import asyncio
import sys
import time
import weakref
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

import redis

from .encoding import encoded

if sys.version_info >= (3, 11):
    from asyncio import timeout
else:
    from async_timeout import timeout


class AsyncWire:
    """See `Wire`. A connection belongs to the event loop that opened it, and so does this."""

    def __init__(
        self, connect: Callable[[], Any], most: int, timeout: float, deadline: float
    ) -> None:
        self._connect = connect
        self._timeout = timeout
        self._deadline = deadline
        self._idle: deque[Any] = deque()
        self._room = asyncio.Semaphore(most)
        self._guard: AsyncGenerator[None, None] | None = None
        self._reading: set[asyncio.Future[None]] = set()

    async def call(self, *command: Any, until: float | None = None, asking: bool = False) -> Any:
        """See `Wire.call`."""
        if self._guard is None:
            self._guard = _until_the_loop_ends(self)
            await self._guard.__anext__()
        until = until or time.monotonic() + self._deadline
        await self._enter(until)
        owed: list[Any] = []
        try:
            connection = await self._ready(until)
            # The one wait of a call, mostly, and so the one time-out: each costs microseconds.
            async with timeout(min(self._timeout, until - time.monotonic())):
                return await self._call(connection, owed, command, asking)
        except asyncio.TimeoutError:
            await self._drop(*owed)
            owed.clear()
            raise redis.TimeoutError("No answer within the deadline") from None
        finally:
            if owed:
                # Who asked has been cancelled. Another connection would cost more than the answer.
                reading = asyncio.ensure_future(self._read(*owed))
                self._reading.add(reading)
                reading.add_done_callback(self._reading.discard)
            else:
                self._room.release()

    async def hang_up(self) -> None:
        """Close the idle connections."""
        while self._idle:
            await self._idle.pop().disconnect(nowait=True)

    async def _enter(self, until: float) -> None:
        if not self._room.locked():
            await self._room.acquire()
            return
        try:
            # Tasks come by the thousand, and each is through in no time: half of the deadline.
            async with timeout((until - time.monotonic()) / 2):
                await self._room.acquire()
        except asyncio.TimeoutError:
            # Which says nothing of Redis.
            raise redis.exceptions.MaxConnectionsError("All connections are in use") from None

    async def _ready(self, until: float) -> Any:
        """A connection that is open, as far as can be seen."""
        connection = self._idle.pop() if self._idle else self._connect()
        if connection.is_connected and not await _has_something(connection):
            return connection
        try:
            async with timeout(until - time.monotonic()):
                # If there is something, a server that was restarted has closed it.
                await connection.disconnect(nowait=True)
                await connection.connect()
        except asyncio.CancelledError:
            await connection.disconnect(nowait=True)
            raise
        except BaseException:
            await self._drop(connection)
            raise
        return connection

    async def _read(self, connection: Any) -> None:
        """Read what a cancelled call was owed, so that its connection serves the next one."""
        try:
            async with timeout(self._deadline):
                await connection.read_response()
        except redis.ResponseError:
            self._idle.append(connection)
        except Exception:
            # Nobody waits to hear of it, and the loop would log a traceback for each.
            await self._drop(connection)
        except BaseException:
            await self._drop(connection)
            raise
        else:
            self._idle.append(connection)
        finally:
            self._room.release()

    async def _drop(self, *connections: Any) -> None:
        for connection in connections:
            await connection.disconnect(nowait=True)
        await self.hang_up()

    async def _call(
        self, connection: Any, owed: list[Any], command: Sequence[Any], asking: bool
    ) -> Any:
        """`owed` holds the connection for as long as an answer is still to come on it."""
        try:
            if asking:
                await connection.send_command("ASKING", check_health=False)
                await connection.read_response()
            await connection.send_packed_command(encoded(connection, command), check_health=False)
            owed.append(connection)
            reply = await connection.read_response(disconnect_on_error=False)
            owed.clear()
        except redis.ResponseError as error:
            owed.clear()
            if isinstance(error, redis.exceptions.ReadOnlyError):
                await self._drop(connection)
            else:
                self._idle.append(connection)
            raise
        except asyncio.CancelledError:
            if not owed:
                await connection.disconnect(nowait=True)
            raise
        except BaseException:
            # As in `Wire.call`.
            owed.clear()
            await self._drop(connection)
            raise
        self._idle.append(connection)
        return reply


async def _has_something(connection: Any) -> bool:
    """See `wire._has_something`; redis-py 8 renamed it."""
    look = getattr(connection, "can_read", None) or connection.can_read_destructive
    try:
        return bool(await look())
    except (redis.ConnectionError, OSError):
        return True


async def _until_the_loop_ends(wire: AsyncWire) -> AsyncGenerator[None, None]:
    """A loop that ends closes its asynchronous generators, and this one its connections."""
    kept = weakref.ref(wire)
    try:
        yield
    finally:
        if (found := kept()) is not None:
            await found.hang_up()
