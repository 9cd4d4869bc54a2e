"""A client that never stops: one thread, connections kept open, about 200 requests a second."""

import http.client
import re
import threading
import time
from collections.abc import Iterable
from typing import NamedTuple

PATH = "/edited/"
#: Requests a second.
RATE = 200


class Numbers(NamedTuple):
    """What a response says of the one policy: its capacity and window, or None without one."""

    q: int
    w: int


class Answer(NamedTuple):
    status: int
    pid: int
    numbers: Numbers | None
    remaining: int | None
    wait: int | None
    sent: float
    came: float


class Connection:
    """Kept open, so it stays with one worker."""

    def __init__(self, port: int) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def ask(self, who: str) -> Answer:
        sent = time.monotonic()
        self._http.request("GET", PATH, headers={"X-Who": who, "X-Other": who})
        response = self._http.getresponse()
        response.read()
        assert not response.will_close, "the server does not keep connections"
        told = response.headers
        policy = re.fullmatch(r'"edited";q=(\d+);w=(\d+)', told.get("RateLimit-Policy", ""))
        left = re.match(r'"edited";r=(\d+)', told.get("RateLimit", ""))
        return Answer(
            response.status,
            int(told["X-Pid"]),
            Numbers(int(policy[1]), int(policy[2])) if policy else None,
            int(left[1]) if left else None,
            int(told["Retry-After"]) if "Retry-After" in told else None,
            sent,
            time.monotonic(),
        )

    def close(self) -> None:
        self._http.close()


def connections(port: int, pids: Iterable[int]) -> list[Connection]:
    """Two to each of these workers."""
    found: dict[int, list[Connection]] = {pid: [] for pid in pids}
    deadline = time.monotonic() + 30
    while any(len(each) < 2 for each in found.values()):
        assert time.monotonic() < deadline, "a worker takes no connection"
        # Whoever of the workers is idle takes it.
        made = Connection(port)
        kept = found[made.ask("first").pid]
        if len(kept) < 2:
            kept.append(made)
        else:
            made.close()
    return [each for kept in found.values() for each in kept]


class Load:
    """Every other request is a new client's; the rest are of one who never lets go."""

    def __init__(self, connections: list[Connection]) -> None:
        self.answers: list[Answer] = []
        self._connections = connections
        self._read = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Load":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def obeyed(self, pids: set[int], numbers: Numbers | None, since: float) -> float:
        """Seconds until the last of the workers answered by these numbers."""
        first: dict[int, float] = {}
        while len(first) < len(pids):
            assert self._thread.is_alive()
            assert time.monotonic() < since + 3, f"{numbers} is not obeyed by {pids - set(first)}"
            # As often as there can be news.
            self._stop.wait(1 / RATE)
            start, self._read = self._read, len(self.answers)
            for answer in self.answers[start : self._read]:
                if answer.numbers == numbers and answer.sent >= since:
                    first.setdefault(answer.pid, answer.came)
        return max(first.values()) - since

    def _run(self) -> None:
        started, number = time.monotonic(), 0
        while not self._stop.wait(max(0, started + number / RATE - time.monotonic())):
            number += 1
            who = f"new-{number}" if number % 2 else "greedy"
            connection = self._connections[number // 2 % len(self._connections)]
            self.answers.append(connection.ask(who))
