"""An open-loop client: a request is sent when its time has come, whatever became of the others."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tests.live.asking import Answer


class Asked(NamedTuple):
    """A request: its path, and the client that it names (header X-Client)."""

    path: str
    who: str


class Seen(NamedTuple):
    """A request and its answer; a status of 0 means that none came."""

    asked: Asked
    answer: Answer

    @property
    def took(self) -> float:
        """Seconds from when it was sent: waiting for a free worker counts."""
        return self.answer.came - self.answer.sent


class Load:
    """`rate` requests a second to these ports in turn, each on a connection of its own.

    `asks` gives the request of each number; what comes back is handed to `sees`, or kept in `seen`.
    """

    def __init__(
        self,
        ports: Sequence[int],
        rate: float,
        asks: Callable[[int], Asked],
        sees: Callable[[Seen], None] | None = None,
    ) -> None:
        self.seen: list[Seen] = []
        self.sent = 0
        #: By how many seconds a request was sent too late at most: the client's fault, not the
        #: server's, since it waits for no answer.
        self.late = 0.0
        self._ports, self._rate, self._asks = ports, rate, asks
        self._sees = sees or self.seen.append
        self._stop = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    def __enter__(self) -> "Load":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stops asking, and waits for what is still to be answered."""
        self._stop.set()
        self._thread.join(60)
        assert not self._thread.is_alive()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        started = time.monotonic()
        tasks: set[asyncio.Task[None]] = set()
        while not self._stop.is_set():
            due = started + self.sent / self._rate
            if (early := due - time.monotonic()) > 0:
                await asyncio.sleep(early)
            port = self._ports[self.sent % len(self._ports)]
            now = time.monotonic()
            self.late = max(self.late, now - due)
            task = loop.create_task(self._ask(port, self._asks(self.sent), now))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            self.sent += 1
        await asyncio.gather(*tasks)

    async def _ask(self, port: int, asked: Asked, sent: float) -> None:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[bytes] = loop.create_future()
        got = b""
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            transport, _ = await loop.create_connection(
                lambda: _Exchange(asked, done), "127.0.0.1", port
            )
            try:
                got = await asyncio.wait_for(done, 30)
            finally:
                transport.abort()
        self._sees(Seen(asked, _parsed(got, sent)))


class _Exchange(asyncio.Protocol):
    """One request, and all that comes until the server closes."""

    def __init__(self, asked: Asked, done: asyncio.Future[bytes]) -> None:
        self._asked, self._done = asked, done
        self._got = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(
            f"GET {self._asked.path} HTTP/1.0\r\nHost: localhost\r\n"
            f"X-Client: {self._asked.who}\r\n\r\n".encode()
        )

    def data_received(self, data: bytes) -> None:
        self._got += data

    def connection_lost(self, _: Exception | None) -> None:
        if not self._done.done():
            self._done.set_result(self._got)


def _parsed(got: bytes, sent: float) -> Answer:
    head, _, body = got.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    fields = dict(line.split(": ", 1) for line in lines)
    status = int(first.split(" ")[1]) if first.startswith("HTTP/") else 0
    return Answer(status, int(fields.get("X-Pid", 0)), fields, body, sent, time.monotonic())
