"""How many processes share a limit, as far as each of them knows."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import redis

from ratelimit_app.stores.redis import RedisStore
from tests.servers import RedisServer
from tests.stores.stores import closing, real_store


@pytest.fixture
def four(redis_server: RedisServer, raw: redis.Redis) -> Iterator[list[RedisStore]]:
    """Each stands for a process."""
    with ExitStack() as stack:
        made = [
            stack.enter_context(closing(real_store("django", redis_server.url, KEY_PREFIX="four")))
            for _ in range(4)
        ]
        raw.delete(made[0]._alive)
        yield made


def beat(stores: list[RedisStore]) -> list[int]:
    for store in stores:
        store.beat()
    return [store.processes for store in stores]


def test_after_two_beats_each_knows_of_all(four: list[RedisStore]):
    assert beat(four) == [1, 2, 3, 4]
    assert beat(four) == [4, 4, 4, 4]


def test_a_redis_that_forgot_everybody_makes_no_share_larger(
    four: list[RedisStore], raw: redis.Redis
):
    """It may go again before all have said that they are there."""
    beat(four)
    beat(four)
    raw.delete(four[0]._alive)
    assert beat(four) == [4, 4, 4, 4]
    assert beat(four) == [4, 4, 4, 4]


def test_who_is_gone_counts_for_three_beats(four: list[RedisStore], raw: redis.Redis):
    beat(four)
    beat(four)
    raw.delete(four[0]._alive)
    assert [beat(four[:1])[0] for _ in range(3)] == [4, 4, 1]
