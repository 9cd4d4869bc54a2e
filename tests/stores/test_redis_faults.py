"""A Redis that does not answer, or is none: `Unavailable`, in time, and nothing else."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator

import pytest
import redis

from ratelimit_app.conformance.subject import Subject, quota
from ratelimit_app.stores import Take, Unavailable
from ratelimit_app.stores.redis import RedisStore
from tests.servers import RedisServer, free_port
from tests.stores.impostor import NO_ANSWERS, Impostor
from tests.stores.stores import CACHES, always, closing, real_store

#: Seconds. Short, since some tests wait for it; and twice as long is still told apart from it.
TIMEOUT = 0.4

every_cache = pytest.mark.parametrize("cache", list(CACHES))


def seconds(store: RedisStore, asked: str) -> float:
    """How long the call takes to say `Unavailable`."""
    started = time.monotonic()
    with pytest.raises(Unavailable):
        CALLS[asked](store)
    return time.monotonic() - started


TAKE = Take(quota("gcra", 10, 3600), b"fifteen letters")
OTHER = Take(quota("fixed_window", 10, 3600), b"fifteen letters")
#: Everything that a store may be asked.
CALLS: dict[str, Callable[[RedisStore], object]] = {
    "take": lambda store: store.take([TAKE]),
    "look": lambda store: store.take([TAKE], spend=False),
    "atake": lambda store: asyncio.run(store.atake([TAKE])),
    "give": lambda store: store.give([TAKE, OTHER]),
    "agive": lambda store: asyncio.run(store.agive([TAKE, OTHER])),
    "reset": lambda store: store.reset([TAKE]),
    "version": lambda store: store.version(),
    "announce": lambda store: store.announce("token"),
    "beat": lambda store: store.beat(),
}

every_call = pytest.mark.parametrize("asked", list(CALLS))


@every_cache
@pytest.mark.parametrize("answer", list(NO_ANSWERS))
@pytest.mark.parametrize("asked", ["take", "look", "atake", "give", "agive"])
def test_an_answer_that_is_not_ours_is_none(cache: str, answer: str, asked: str):
    impostor = Impostor(NO_ANSWERS[answer])
    with closing(real_store(cache, impostor.url, TIMEOUT)) as store:
        for _ in range(2):
            with pytest.raises(Unavailable):
                CALLS[asked](store)
    impostor.close()


@every_cache
@pytest.mark.parametrize("answer", list(NO_ANSWERS))
@pytest.mark.parametrize("asked", ["reset", "version", "announce", "beat"])
def test_nothing_but_unavailable_is_raised(cache: str, answer: str, asked: str):
    impostor = Impostor(NO_ANSWERS[answer])
    store = real_store(cache, impostor.url, TIMEOUT)
    with closing(store), contextlib.suppress(Unavailable):
        assert isinstance(CALLS[asked](store), str | None)
    impostor.close()


@every_cache
@every_call
def test_a_closed_port_is_told_at_once(cache: str, asked: str):
    with closing(real_store(cache, f"redis://127.0.0.1:{free_port()}/0", TIMEOUT)) as store:
        assert seconds(store, asked) < TIMEOUT


@pytest.fixture(scope="module")
def fragile() -> Iterator[RedisServer]:
    """A Redis that a test may pause or stop."""
    server = RedisServer()
    yield server
    server.stop()


@pytest.fixture
def hanging(fragile: RedisServer) -> Iterator[RedisServer]:
    """Accepts connections, as the kernel does for it, and never answers."""
    fragile.pause()
    yield fragile
    fragile.resume()


@every_cache
@every_call
def test_a_hanging_server_costs_a_new_connection_two_timeouts_at_most(
    hanging: RedisServer, cache: str, asked: str
):
    with closing(real_store(cache, hanging.url, TIMEOUT)) as store:
        assert seconds(store, asked) < 2 * TIMEOUT + 0.1


@every_cache
def test_a_server_that_begins_to_hang_costs_an_open_connection_one_timeout(
    fragile: RedisServer, cache: str
):
    with closing(real_store(cache, fragile.url, TIMEOUT)) as store:
        store.take([TAKE])
        fragile.pause()
        try:
            assert seconds(store, "take") < 2 * TIMEOUT
        finally:
            fragile.resume()
        store.take([TAKE])


@every_cache
@pytest.mark.parametrize("asked", ["take", "atake"])
def test_a_call_that_timed_out_is_not_asked_again(fragile: RedisServer, cache: str, asked: str):
    """B28: whether it was charged is unknown; that it was charged twice is impossible."""
    with closing(real_store(cache, fragile.url, TIMEOUT)) as store:
        store.reset([TAKE])
        CALLS[asked](store)
        fragile.pause()
        try:
            seconds(store, asked)
        finally:
            fragile.resume()
        (look,) = store.take([TAKE], spend=False)
        # Of ten: the first one, perhaps the one that timed out, and the look's own.
        assert look.remaining in (8, 7)


@every_cache
@pytest.mark.parametrize("asked", ["give", "agive"])
def test_a_give_back_that_timed_out_is_not_sent_again(fragile: RedisServer, cache: str, asked: str):
    with closing(real_store(cache, fragile.url, TIMEOUT)) as store:
        store.reset([TAKE])
        store.take([TAKE._replace(cost=8)])
        CALLS[asked](store)
        fragile.pause()
        try:
            seconds(store, asked)
        finally:
            fragile.resume()
        (look,) = store.take([TAKE._replace(cost=0)], spend=False)
        # Of ten: eight were spent, one came back, and perhaps the one that timed out.
        assert look.remaining in (3, 4)


def test_a_key_of_another_type_is_a_fault_of_that_key_only(
    redis_store: RedisStore, raw: redis.Redis
):
    subject, ten = Subject(always(redis_store)), quota("gcra", 10, 3600)
    raw.lpush(redis_store.bucket(subject.asked(ten, who="bob")), "a list")
    with pytest.raises(Unavailable):
        subject.take(ten, who="bob")
    assert subject.take(ten, who="alice").allowed


def test_a_version_that_nobody_announced_is_read_as_it_is(
    redis_store: RedisStore, raw: redis.Redis
):
    raw.set(redis_store._version, b"\xff\xfe")
    assert isinstance(redis_store.version(), str)
    raw.delete(redis_store._version)


@every_cache
@pytest.mark.parametrize("asked", ["take", "atake"])
def test_connections_that_the_server_closed_cost_nobody_an_answer(
    fragile: RedisServer, cache: str, asked: str
):
    """As after a restart, or `timeout` in redis.conf; and no place among the two is lost by it."""
    store = real_store(cache, f"{fragile.url}?max_connections=2", TIMEOUT)
    with closing(store), fragile.client() as raw:
        for _ in range(5):
            CALLS[asked](store)
            raw.client_kill_filter(_type="normal", skipme=True)
            CALLS[asked](store)
