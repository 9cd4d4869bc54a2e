"""The deadline bounds a call of a thread as well, where each `recv` would have its own time-out."""

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache.backends.redis import RedisCache

from ratelimit_app.conformance.subject import quota
from ratelimit_app.stores import Take, Unavailable
from ratelimit_app.stores import bounded as module
from ratelimit_app.stores.bounded import Until, bounded
from ratelimit_app.stores.redis import RedisStore

#: Seconds. What drips here takes a minute, each byte of it less than the time-out.
TIMEOUT, DEADLINE, DRIP = 0.4, 1.0, 0.1
#: What a busy machine adds.
SLACK = 0.5

TAKE = Take(quota("gcra", 10, 3600), b"fifteen letters")


class Dripping:
    """Answers everything with a text of which a byte comes now and then."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self._stopped = threading.Event()
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with connection:
            try:
                connection.recv(65536)
                connection.sendall(b"$600\r\n")
                while not self._stopped.wait(DRIP):
                    connection.sendall(b"x")
            except OSError:
                return

    def close(self) -> None:
        self._stopped.set()
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()


@pytest.fixture
def dripping() -> Iterator[Dripping]:
    server = Dripping()
    yield server
    server.close()


def seconds(store: RedisStore) -> float:
    """How long it takes to say that there is no answer in time."""
    started = time.monotonic()
    with pytest.raises(Unavailable) as raised:
        store.take([TAKE])
    assert raised.value.kind == "slow"
    return time.monotonic() - started


@pytest.mark.parametrize("parser", ["_HiredisParser", "_RESP2Parser"])
@pytest.mark.parametrize("login", ["", ":secret@"])
def test_an_answer_that_drips(dripping: Dripping, parser: str, login: str):
    """While asking, and before that while logging in."""
    options = {"parser_class": f"redis._parsers.{parser}"}
    url = f"redis://{login}127.0.0.1:{dripping.port}/0"
    store = RedisStore(RedisCache(url, {"OPTIONS": options}), TIMEOUT, DEADLINE)
    assert DEADLINE - 0.1 <= seconds(store) < DEADLINE + SLACK


@pytest.fixture
def full() -> Iterator[tuple[str, int]]:
    """An address at which nobody picks up."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        callers = [socket.socket() for _ in range(4)]
        for caller in callers:
            caller.setblocking(False)
            caller.connect_ex(server.getsockname())
        yield server.getsockname()
        for caller in callers:
            caller.close()


def test_a_name_with_many_addresses(full: tuple[str, int], monkeypatch: pytest.MonkeyPatch):
    """Each gets its part of the time-out, instead of all of it."""
    address = (socket.AF_INET, socket.SOCK_STREAM, 6, "", full)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_options: [address] * 8)
    store = RedisStore(RedisCache("redis://name.example:1/0", {}), TIMEOUT, DEADLINE)
    assert seconds(store) < TIMEOUT + SLACK


class _Socket:
    """Has a time-out, which is noted when something is read."""

    def __init__(self) -> None:
        self._timeout, self.waited = 0.1, list[float]()

    def gettimeout(self) -> float:
        return self._timeout

    def settimeout(self, timeout: float) -> None:
        self._timeout = timeout

    def recv(self, _size: int) -> bytes:
        self.waited.append(self._timeout)
        return b"x"

    recv_into = recv
    sendall = fileno = settimeout


@pytest.mark.parametrize("read", ["recv", "recv_into"])
def test_a_wait_is_cut_short_and_the_next_one_is_not(monkeypatch: pytest.MonkeyPatch, read: str):
    inner, until = _Socket(), Until()
    outer: Any = module._Socket(inner, until)
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    for until.at in (101.0, 100.04, 99.0, 101.0):
        getattr(outer, read)(1)
    assert inner.waited == [0.1, pytest.approx(0.04), 0.001, 0.1]


def test_what_else_a_socket_can_do_is_there():
    assert module._Socket(_Socket(), Until()).waited == []
    assert bounded(socket.socket) is bounded(socket.socket)
