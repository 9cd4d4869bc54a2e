"""`make bench`: what a decision costs here, as ratios against floors in the same run.

`python -m benchmarks [row …]` runs some rows. Machines differ and are noisy; ratios carry over.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
django.setup()

import redis  # noqa: E402 - Django comes first
from django.core.cache.backends.redis import RedisCache  # noqa: E402

from benchmarks import floors  # noqa: E402
from benchmarks.measure import per_call  # noqa: E402
from benchmarks.requests import OURS, request  # noqa: E402
from ratelimit_app import limiter, stores  # noqa: E402
from ratelimit_app.algorithms import Limit  # noqa: E402
from ratelimit_app.stores import Quota, Take  # noqa: E402
from ratelimit_app.stores.memory import MemoryStore  # noqa: E402
from ratelimit_app.stores.redis import RedisStore  # noqa: E402
from ratelimit_app.testing import override_policies  # noqa: E402
from tests.servers import RedisServer  # noqa: E402

LOTS = {"limit": 1_000_000_000, "period": 1}
PLENTY = Limit(10**9, 1000, 10**9)
WHO = b"fifteen bytes.."

Row = tuple[str, int, dict[str, Callable[[], Any]]]


def take(store: stores.Store, buckets: int = 1, limit: Limit = PLENTY) -> Callable[[], Any]:
    takes = [Take(Quota(f"p{n}", "gcra", limit, f"p{n}"), WHO) for n in range(buckets)]
    store.take(takes)
    return lambda: store.take(takes)


def in_process(stack: ExitStack, _server: RedisServer) -> Iterator[Row]:
    stack.enter_context(override_policies(a=LOTS, b={"limit": 1, "period": 86_400}))
    refuse = floors.in_process(1.0, 0.5)
    yield (
        "decision",
        20_000,
        {
            "floor": floors.in_process(1e-9, 1.0),
            "store.take": take(MemoryStore()),
            "limiter.take": lambda: limiter.take("a", key="192.0.2.7"),
        },
    )
    limiter.take("b", key="192.0.2.7")
    yield (
        "refusal",
        20_000,
        {
            "floor": refuse,
            "store.take": take(MemoryStore(), limit=Limit(1, 86_400_000, 1)),
            "limiter.take": lambda: limiter.take("b", key="192.0.2.7"),
        },
    )


def over_redis(_stack: ExitStack, server: RedisServer) -> Iterator[Row]:
    client = server.client()
    store = RedisStore(RedisCache(server.url, {}), timeout=1)
    yield (
        "redis",
        500,
        {
            "no-op EVALSHA by redis-py": floors.no_op(client),
            "bare GCRA by redis-py": floors.bare_gcra(client),
            "one policy": take(store),
            "three policies": take(store, 3),
            "ten policies": take(store, 10),
        },
    )


def whole(stack: ExitStack, server: RedisServer) -> Iterator[Row]:
    stack.enter_context(override_policies(a={**LOTS, "path": "/x/"}))
    bare = request([])
    yield (
        "request",
        500,
        {
            "bare view": bare,
            "floor": request(["benchmarks.floors.InProcess"]),
            "ratelimit_app": request([OURS]),
        },
    )
    floors.OverRedis.client = redis.Redis(port=server.port)
    ours = request([OURS])
    stack.enter_context(stores.pinned(RedisStore(RedisCache(server.url, {}), timeout=1)))
    yield (
        "request over redis",
        300,
        {
            "bare view": bare,
            "floor": request(["benchmarks.floors.OverRedis"]),
            "ratelimit_app": ours,
        },
    )


def many(stack: ExitStack, _server: RedisServer) -> Iterator[Row]:
    """Does a request pay for the policies that do not match it?"""
    matching = {f"m{n}": {**LOTS, "path": "/x/"} for n in range(3)}
    others = {f"o{n}": {**LOTS, "path": f"/{n}/*"} for n in range(997)}
    send = request([OURS])

    def among(policies: dict[str, Any]) -> Callable[[], Any]:
        with override_policies(policies):
            from ratelimit_app import refresh

            snapshot = refresh.keeper.current()

        def ask() -> Any:
            with refresh.keeper.pinned(snapshot):
                return send()

        return ask

    yield "policies", 300, {"3 of 3": among(matching), "3 of 1,000": among(matching | others)}


def main(wanted: list[str]) -> None:
    server = RedisServer()
    try:
        for rows in (in_process, over_redis, whole, many):
            with ExitStack() as stack:
                for name, calls, contenders in rows(stack, server):
                    if not wanted or name in wanted:
                        report(name, per_call(contenders, calls))
    finally:
        server.stop()


def report(name: str, times: dict[str, float]) -> None:
    first = next(iter(times.values()))
    print(f"\n{name}")
    for contender, time in times.items():
        print(f"  {contender:28} {time:9.2f} µs   {time / first:6.2f} ×")


if __name__ == "__main__":
    main(sys.argv[1:])
