"""Bytes that a client's bucket keeps, and what a decision costs in trips and bytes on the wire."""

import gc
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import redis
from django.test import override_settings

from benchmarks import ours, peers, site
from benchmarks.peers import Place
from benchmarks.policies import Rate
from benchmarks.tap import Tap
from ratelimit_app import digests, limiter, stores
from tests.servers import RedisServer

#: A hundred a minute, after one take of each client, and after a hundred of fewer.
RATE = Rate(100, 60)
ONCE, OFTEN, TAKES = 5_000, 50, 100


class Line(NamedTuple):
    """Bytes a client after one take and after a hundred; trips and bytes of one decision."""

    name: str
    algorithm: str
    memory: tuple[float, float] | None = None
    redis: tuple[float, float] | None = None
    trips: float | None = None
    sent: float | None = None


def lines(server: RedisServer, found: Mapping[str, peers.Peer]) -> Iterator[Line]:
    def our_taker(place: Place) -> Callable[[str], Any]:
        return lambda key: limiter.take("footprint", key=key)

    def our_store(place: Place) -> Callable[[str], Any]:
        store, (asked,) = stores.current(), ours.takes(1, RATE)
        return lambda key: store.take([asked._replace(identity=key.encode().rjust(15, b"."))])

    # The limiter also remembers digests of the last 16,384 identities.
    yield _line("ours: store.take", "GCRA", ("memory", "redis"), our_store, server)
    yield _line("ours: limiter.take", "GCRA", ("memory", "redis"), our_taker, server)
    for name, peer in found.items():
        taker = partial(_taker, peer)
        work = partial(_line, name, peer.algorithm, peer.places, taker, server)
        if (line := peers.attempt(name, work)) is not None:
            yield line


def _taker(peer: peers.Peer, place: Place) -> Callable[[str], Any]:
    return peer.taker(place, RATE)


def _line(
    name: str,
    algorithm: str,
    places: Any,
    taker: Callable[[Place], Callable[[str], Any]],
    server: RedisServer,
) -> Line:
    line = Line(name, algorithm)
    if "memory" in places:
        with ours.limited_by("memory"):
            line = line._replace(memory=_in_memory(taker(Place("memory", server.url))))
    with ours.limited_by("redis"):
        line = line._replace(redis=_in_redis(taker(Place("redis", server.url)), server.client()))
    trips, sent = _on_the_wire(taker, server)
    return line._replace(trips=trips, sent=sent)


def _in_memory(take: Callable[[str], Any]) -> tuple[float, float]:
    take("first")
    # What is remembered of earlier clients would make room for these.
    digests._digest.cache_clear()
    return _grown(take, ONCE, 1), _grown(take, OFTEN, TAKES)


def _grown(take: Callable[[str], Any], clients: int, times: int) -> float:
    """Bytes a client that are still held afterwards; the client's own name not counted."""
    names = [f"footprint-{times}-{number}" for number in range(clients)]
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for key in names:
            for _ in range(times):
                take(key)
        gc.collect()
        return (tracemalloc.get_traced_memory()[0] - before) / clients
    finally:
        tracemalloc.stop()


def _in_redis(take: Callable[[str], Any], client: redis.Redis) -> tuple[float, float]:
    found = []
    for clients, times in ((ONCE // 10, 1), (OFTEN, TAKES)):
        client.flushall()
        for number in range(clients):
            for _ in range(times):
                take(f"footprint-{times}-{number}")
        held = sum(int(client.memory_usage(key, samples=0) or 0) for key in client.scan_iter("*"))
        found.append(held / clients)
    return found[0], found[1]


def _on_the_wire(
    taker: Callable[[Place], Callable[[str], Any]], server: RedisServer
) -> tuple[float, float]:
    """Trips and bytes sent of a decision, once connection and script are there."""
    tap, calls = Tap(server.port), 50
    tapped = {**site.CACHES, "redis": {**site.CACHES["redis"], "LOCATION": tap.url}}
    try:
        with override_settings(CACHES=tapped), ours.limited_by("redis"):
            take = taker(Place("redis", tap.url))
            take("wire")
            take("wire")
            before = tap.heard
            for _ in range(calls):
                take("wire")
            after = tap.heard
    finally:
        tap.close()
    return (after.trips - before.trips) / calls, (after.sent - before.sent) / calls


def table(found: list[Line]) -> str:
    head = [
        "| | by | in memory | after 100 | in Redis | after 100 | trips | bytes sent |",
        "| :-- | :-- | --: | --: | --: | --: | --: | --: |",
    ]
    return "\n".join(head + [_row(line) for line in found])


def _row(line: Line) -> str:
    held = [f"{each:,.0f}" for pair in (line.memory, line.redis) for each in pair or ()]
    if line.memory is None:
        held = ["", "", *held]
    cells = [line.name, line.algorithm, *held, f"{line.trips:.1f}", f"{line.sent:,.0f}"]
    return "| " + " | ".join(cells) + " |"
