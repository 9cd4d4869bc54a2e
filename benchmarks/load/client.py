"""A client on many connections at once: as fast as it is answered, or at a rate of its own.

At a rate of its own a request's time runs from when it was due, not from when a connection was
free: else a server that stalls would be asked less and look better than it is.
"""

import asyncio
import random
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Heard:
    """Seconds of every request, the answers by status, and how busy the client was (0 to 1)."""

    times: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    seconds: float = 0.0
    busy: float = 0.0


class Connection(asyncio.Protocol):
    """Asks one thing at a time and tells `answered` when the whole answer is there."""

    def __init__(self, request: bytes, answered: Callable[["Connection", int], None]) -> None:
        self.request, self.answered = request, answered
        self.transport: asyncio.Transport
        self.due = 0.0
        self._read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def ask(self, due: float) -> None:
        self.due = due
        self.transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        self._read += data
        if _is_whole(self._read):
            read, self._read = self._read, b""
            self.answered(self, int(read[9:12]))

    def connection_lost(self, error: Exception | None) -> None:
        # A server that hangs up on us would otherwise look fast.
        self.answered = lambda *_: None


def _is_whole(read: bytes) -> bool:
    head, found, body = read.partition(b"\r\n\r\n")
    if not found:
        return False
    at = head.lower().find(b"content-length:")
    if at < 0:
        return body.endswith(b"0\r\n\r\n")
    return len(body) >= int(head[at + 15 :].split(b"\r\n", 1)[0])


def load(port: int, path: str, seconds: float, rate: float | None = None) -> Heard:
    """Ask for `seconds`: on 16 connections without a pause, or `rate` times a second on 64."""
    return asyncio.run(_load(port, path, seconds, rate))


async def _load(port: int, path: str, seconds: float, rate: float | None) -> Heard:
    loop, heard, clock = asyncio.get_running_loop(), Heard(), time.perf_counter
    request = f"GET /{path}/ HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n\r\n"
    idle, due, over = deque[Connection](), deque[float](), False
    ready = loop.create_future()

    def answered(connection: Connection, status: int) -> None:
        now = clock()
        if not ready.done():
            # Of the first answer nothing counts but that the server is there.
            ready.set_result(None)
            idle.append(connection)
            return
        heard.times.append(now - connection.due)
        heard.statuses[status] += 1
        if over:
            return
        if rate is None:
            connection.ask(now)
        elif due:
            connection.ask(due.popleft())
        else:
            idle.append(connection)

    made = [
        await loop.create_connection(
            lambda: Connection(request.encode(), answered), "127.0.0.1", port
        )
        for _ in range(16 if rate is None else 64)
    ]
    made[0][1].ask(clock())
    await ready
    idle.extend(connection for _, connection in made[1:])
    started, worked = clock(), time.process_time()
    if rate is None:
        while idle:
            idle.popleft().ask(clock())
        await asyncio.sleep(seconds)
    else:
        await _at_rate(rate, seconds, idle, due, clock)
    heard.seconds, heard.busy = clock() - started, time.process_time() - worked
    heard.busy /= heard.seconds
    counted = len(heard.times)
    over = True
    # What was still due has waited too: it counts as long as it has waited by now.
    if rate is not None:
        heard.times += [clock() - each for each in due]
    else:
        heard.times = heard.times[:counted]
    for transport, _ in made:
        transport.close()
    return heard


async def _at_rate(
    rate: float,
    seconds: float,
    idle: deque[Connection],
    due: deque[float],
    clock: Callable[[], float],
) -> None:
    """Requests fall due as those of many strangers do, after exponential gaps."""
    gaps = random.Random(1)
    next_one = clock()
    end = next_one + seconds
    while next_one < end:
        if (wait := next_one - clock()) > 0:
            await asyncio.sleep(wait)
        while next_one <= clock():
            if idle:
                idle.popleft().ask(next_one)
            else:
                due.append(next_one)
            next_one += gaps.expovariate(rate)
    await asyncio.sleep(0.02)
