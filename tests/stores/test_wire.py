"""Connections: how many, who waits, and what becomes of them when something is wrong."""

import asyncio
import gc
import threading
from typing import Any

import pytest
import redis
from django.core.cache import caches
from django.core.cache.backends.redis import RedisCache

from ratelimit_app.algorithms import Limit
from ratelimit_app.stores import Quota, Take, Unavailable, awire
from ratelimit_app.stores.bounded import Until
from ratelimit_app.stores.redis import RedisStore
from ratelimit_app.stores.wire import Wire


class Connection:
    """What a wire needs of a connection; answers are set by the test."""

    answer: object = b"PONG"

    def __init__(self, **_: object) -> None:
        self.connected = False
        self.until = Until()

    def connect(self) -> None:
        self.connected = True

    def disconnect(self) -> None:
        self.connected = False

    def can_read(self, _timeout: float) -> bool:
        return not self.connected

    def pack_command(self, *command: object) -> object:
        return command

    def send_packed_command(self, _command: object, check_health: bool) -> None:
        assert check_health is False

    def read_response(self) -> object:
        answer = self.answer() if callable(self.answer) else self.answer
        if isinstance(answer, Exception):
            raise answer
        return answer


class Pool:
    connection_class = Connection
    connection_kwargs: dict[str, object] = {}

    def __init__(self, most: int) -> None:
        self.max_connections = most


def wire(most: int = 10) -> Wire:
    pool: Any = Pool(most)
    return Wire(pool, timeout=0.1, deadline=0.25)


@pytest.fixture(autouse=True)
def _fresh_answer(monkeypatch):
    monkeypatch.setattr(Connection, "answer", b"PONG")


def test_a_connection_is_held_open_and_used_again():
    line = wire()
    assert [line.call("PING") for _ in range(3)] == [b"PONG"] * 3
    assert (line._open, len(line._idle)) == (1, 1)


def test_an_error_that_redis_answers_keeps_the_connection(monkeypatch):
    line = wire()
    monkeypatch.setattr(Connection, "answer", redis.ResponseError("ERR no"))
    with pytest.raises(redis.ResponseError):
        line.call("PING")
    assert (line._open, len(line._idle)) == (1, 1)


@pytest.mark.parametrize(
    "error",
    [
        redis.TimeoutError("slow"),
        redis.ConnectionError("gone"),
        redis.exceptions.ReadOnlyError("demoted"),
        KeyboardInterrupt(),
    ],
)
def test_after_any_other_error_all_idle_connections_are_closed(monkeypatch, error):
    line = wire()
    line.call("PING")
    spare = Connection()
    line._idle.appendleft(spare)
    line._open += 1
    monkeypatch.setattr(Connection, "answer", error if isinstance(error, Exception) else None)
    if not isinstance(error, Exception):

        def interrupted() -> object:
            raise error

        monkeypatch.setattr(Connection, "answer", staticmethod(interrupted))
    with pytest.raises(type(error)):
        line.call("PING")
    assert (line._open, len(line._idle), spare.connected) == (0, 0, False)


def busy(line: Wire, monkeypatch: pytest.MonkeyPatch, result: object) -> threading.Event:
    """One call that holds the only connection until the event is set, and then ends so."""
    asked, let_go = threading.Event(), threading.Event()

    def answer() -> object:
        if threading.current_thread().name == "busy":
            asked.set()
            assert let_go.wait(10)
            return result
        return b"PONG"

    monkeypatch.setattr(Connection, "answer", staticmethod(answer))

    def call() -> None:
        with pytest.raises(redis.ConnectionError) if isinstance(result, Exception) else _nothing():
            line.call("PING")

    threading.Thread(target=call, name="busy", daemon=True).start()
    assert asked.wait(10)
    return let_go


class _nothing:  # noqa: N801 - stands where a context manager does
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def test_who_finds_all_connections_in_use_is_told_so(monkeypatch):
    line = wire(most=1)
    let_go = busy(line, monkeypatch, b"PONG")
    with pytest.raises(redis.exceptions.MaxConnectionsError, match="All connections are in use"):
        line.call("PING")
    let_go.set()


@pytest.mark.parametrize("result", [b"PONG", redis.ConnectionError("gone")])
def test_who_waits_gets_the_connection_or_the_room_that_is_freed(monkeypatch, result):
    monkeypatch.setattr("ratelimit_app.stores.wire._WAIT", 10)
    line = wire(most=1)
    let_go = busy(line, monkeypatch, result)
    answers: list[object] = []
    waiter = threading.Thread(target=lambda: answers.append(line.call("PING")))
    waiter.start()
    let_go.set()
    waiter.join(10)
    assert answers == [b"PONG"]
    assert line._open == 1


@pytest.mark.parametrize(
    "error", [ValueError("-MOVED"), RecursionError(), TypeError("x"), EOFError()]
)
def test_whatever_redis_py_raises_is_an_answer_of_the_store(monkeypatch, error):
    store = RedisStore(RedisCache("redis://127.0.0.1:1/0", {}), timeout=0.1)

    def call(*_command, **_options):
        raise error

    monkeypatch.setattr(store, "_call", call)
    with pytest.raises(Unavailable) as raised:
        store.take([Take(Quota("p", "gcra", Limit(1, 1000, 1), "t"), b"fifteen bytes..")])
    assert raised.value.kind == "reply"


@pytest.mark.parametrize(
    ("backend", "options"),
    [
        (
            "django.core.cache.backends.redis.RedisCache",
            {"pool_class": "redis.BlockingConnectionPool", "timeout": 20, "max_connections": 3},
        ),
        (
            "django_redis.cache.RedisCache",
            {
                "CONNECTION_POOL_CLASS": "redis.BlockingConnectionPool",
                "CONNECTION_POOL_KWARGS": {"timeout": 20, "max_connections": 3},
            },
        ),
    ],
)
def test_the_options_of_a_blocking_pool_fit_both_worlds(redis_server, settings, backend, options):
    settings.CACHES = {
        "default": {"BACKEND": backend, "LOCATION": redis_server.url, "OPTIONS": options}
    }
    store = RedisStore(caches["default"], timeout=1)
    takes = [Take(Quota("p", "gcra", Limit(5, 86_400_000, 5), backend[:9]), b"fifteen bytes..")]
    assert store.take(takes)[0].remaining == 4
    assert asyncio.run(store.atake(takes))[0].remaining == 3


def test_tasks_without_a_connection_say_nothing_of_redis(redis_server):
    store = RedisStore(RedisCache(redis_server.url, {"OPTIONS": {"max_connections": 1}}), timeout=1)
    takes = [Take(Quota("p", "gcra", Limit(5, 86_400_000, 5), "busy"), b"fifteen bytes..")]

    async def ask() -> str:
        wire = store.clients.here()
        async with wire._room:
            with pytest.raises(Unavailable) as raised:
                await store.atake(takes)
        return raised.value.kind

    assert asyncio.run(ask()) == "pool"
    assert store.breaker.is_open is False


def test_what_a_cancelled_call_is_owed_and_never_gets_is_no_error_of_the_loop(redis_server):
    """Clients go by the thousand while Redis hangs: the loop would log a traceback for each."""
    store = RedisStore(RedisCache(redis_server.url, {}), timeout=0.1)
    takes = [Take(Quota("p", "gcra", Limit(5, 86_400_000, 5), "owed"), b"fifteen bytes..")]
    said: list[dict[str, Any]] = []

    async def ask() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, about: said.append(about))
        await store.atake(takes)
        wire = store.clients.here()
        redis_server.pause()
        try:
            call = asyncio.create_task(store.atake(takes))
            # It has asked by then, and waits.
            await asyncio.wait([call], timeout=0.05)
            call.cancel()
            await asyncio.wait([call])
            reading = list(wire._reading)
            assert len(reading) == 1
            await asyncio.wait(reading)
        finally:
            redis_server.resume()

    asyncio.run(ask())
    # Of an error that nobody asked for it is told when its task goes.
    gc.collect()
    assert said == []


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_connection_that_redis_has_closed_is_opened_again_before_the_question(redis_server, way):
    store = RedisStore(RedisCache(redis_server.url, {}), timeout=5)
    takes = [Take(Quota("p", "gcra", Limit(9, 86_400_000, 9), f"closed-{way}"), b"fifteen bytes..")]
    killed = redis_server.client()

    async def atwice():
        first = await store.atake(takes)
        killed.client_kill_filter(_type="normal", skipme=True)
        (idle,) = store.clients.here()._idle
        for _ in range(10_000):
            if await awire._has_something(idle):
                break
            await asyncio.sleep(0)
        return first + await store.atake(takes)

    def twice():
        first = store.take(takes)
        killed.client_kill_filter(_type="normal", skipme=True)
        return first + store.take(takes)

    found = twice() if way == "sync" else asyncio.run(atwice())
    assert [each.remaining for each in found] == [8, 7]
