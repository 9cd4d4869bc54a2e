"""A client that is nothing but sockets: each request on a connection of its own."""

import http.client
import re
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple


class Answer(NamedTuple):
    """Who answered what; `sent` and `came` are moments on the clock that all processes share."""

    status: int
    pid: int
    headers: Mapping[str, str]
    body: bytes
    sent: float
    came: float

    @property
    def limit(self) -> int | None:
        """The capacity of the one policy that the answer names."""
        return self._number("RateLimit-Policy", "q")

    @property
    def remaining(self) -> int | None:
        return self._number("RateLimit", "r")

    def _number(self, header: str, name: str) -> int | None:
        found = re.search(rf";{name}=(\d+)", self.headers.get(header, ""))
        return int(found[1]) if found else None


def ask(
    port: int,
    path: str,
    headers: Mapping[str, str] | None = None,
    method: str = "GET",
    body: str | None = None,
) -> Answer:
    sent = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, body, {"Connection": "close", **(headers or {})})
        response = connection.getresponse()
        content = response.read()
    finally:
        connection.close()
    pid = int(response.headers.get("X-Pid", 0))
    fields = dict(response.headers.items())
    return Answer(response.status, pid, fields, content, sent, time.monotonic())


def at_once(ports: Iterable[int], path: str, threads: int = 64) -> list[Answer]:
    """One request to each of these ports, as many in flight as there are threads."""
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda port: ask(port, path), ports))


class Watch:
    """Asks these ports all the time, each time as a new client (header X-Client)."""

    def __init__(self, ports: Iterable[int], path: str) -> None:
        self.answers: list[Answer] = []
        self._steps: list[tuple[float, int | None, dict[int, float]]] = []
        self._stop = threading.Event()
        # Three at once: where the view is slow, two workers of one port are both kept busy.
        self._threads = [
            threading.Thread(target=self._ask, args=(port, path, f"{port}-{number}"))
            for port in ports
            for number in range(3)
        ]

    def __enter__(self) -> "Watch":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def obeyed(
        self, pids: Iterable[int], limit: int | None, since: float, within: float = 1.0
    ) -> float:
        """Seconds from `since` until the last of these processes answered by this limit."""
        first: dict[int, float] = {}
        read = 0
        while len(first) < len(set(pids)):
            ended = time.monotonic() > since + within + 0.5
            read, start = len(self.answers), read
            for answer in self.answers[start:read]:
                if answer.limit == limit and answer.sent >= since:
                    first[answer.pid] = min(answer.came, first.get(answer.pid, answer.came))
            late = set(pids) - set(first)
            assert not (late and ended), f"{limit} is not obeyed by {late} within {within} s"
            time.sleep(0.005)
        self._steps.append((since, limit, first))
        took = max(first.values()) - since
        assert took <= within, f"{limit} is obeyed after {took:.3f} s, not {within} s"
        return took

    def fell_back(self) -> list[Answer]:
        """Answers by an older limit, asked for after the same process had obeyed a newer one."""
        found = []
        ends = [since for since, _, _ in self._steps[1:]] + [float("inf")]
        for (_, limit, first), end in zip(self._steps, ends, strict=True):
            found += [
                answer
                for answer in self.answers
                if first.get(answer.pid, end) < answer.sent
                and answer.came < end
                and answer.limit != limit
            ]
        return found

    def _ask(self, port: int, path: str, name: str) -> None:
        number = 0
        while not self._stop.is_set():
            number += 1
            self.answers.append(ask(port, path, {"X-Client": f"{name}-{number}"}))
