"""The measurement under load: everything up at once, asked in rounds, and what came of it."""

import os
import statistics
from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

from benchmarks.cores import cores, place
from benchmarks.policies import COUNTS
from tests.servers import RedisServer

from .client import Heard, load
from .servers import COMMANDS, serving

ROUNDS, SECONDS = 4, 0.6

#: Of what the bare server manages: the rate at which all are asked for their latency.
SHARE = 0.3


class Line(NamedTuple):
    """`rate`: requests a second without a pause. The rest in ms at the `asked` rate."""

    server: str
    what: str
    rate: float
    p50: float
    p99: float
    p999: float
    busy: float
    asked: float


def lines(redis: RedisServer) -> Iterator[Line]:
    allowed = cores()
    try:
        # The client and Redis share the core that the server has not.
        os.sched_setaffinity(0, {allowed[-1]})
        place(redis.pid, {allowed[-1]})
        for kind in COMMANDS:
            yield from _of(kind, allowed)
    finally:
        os.sched_setaffinity(0, allowed)
        place(redis.pid, set(allowed))


def _of(kind: str, allowed: list[int]) -> Iterator[Line]:
    with ExitStack() as stack:
        os.sched_setaffinity(0, allowed)
        ports = {
            store: stack.enter_context(serving(kind, store))
            for store in ("none", "memory", "redis")
        }
        os.sched_setaffinity(0, {allowed[-1]})
        sites = {"without the limiter": (ports["none"], "x", 200)}
        for store in ("memory", "redis"):
            for outcome, status in (("admit", 200), ("refuse", 429)):
                for count in COUNTS:
                    named = f"{store}, {count} polic{'y' if count == 1 else 'ies'}, {outcome}"
                    sites[named] = (ports[store], f"{outcome}{count}", status)
        # Everything is loaded, and what refuses has nothing left.
        for port, path, _ in sites.values():
            load(port, path, 0.2)
        fast: dict[str, list[Heard]] = {what: [] for what in sites}
        slow: dict[str, list[Heard]] = {what: [] for what in sites}
        bare = [load(*sites["without the limiter"][:2], SECONDS) for _ in range(ROUNDS)]
        asked = SHARE * max(1.0, statistics.median(len(each.times) / each.seconds for each in bare))
        for _ in range(ROUNDS):
            for what, (port, path, status) in sites.items():
                fast[what].append(_heard(load(port, path, SECONDS), status))
                slow[what].append(_heard(load(port, path, SECONDS, asked), status))
        for what in sites:
            yield _line(kind, what, fast[what], slow[what], asked)


def _heard(heard: Heard, status: int) -> Heard:
    if not set(heard.statuses) <= {status}:
        raise AssertionError(f"Asked for answers of {status}, and got {heard.statuses}")
    return heard


def _line(kind: str, what: str, fast: list[Heard], slow: list[Heard], asked: float) -> Line:
    rate = statistics.median(len(each.times) / each.seconds for each in fast)
    times = [seconds * 1000 for each in slow for seconds in each.times]
    cuts = statistics.quantiles(times, n=1000, method="inclusive")
    busy = max(each.busy for each in fast)
    return Line(kind, what, rate, cuts[499], cuts[989], cuts[998], busy, asked)


def table(found: list[Line]) -> str:
    rows = [
        "| | | requests a second | of bare | p50 | p99 | p99.9 |",
        "| :-- | :-- | --: | --: | --: | --: | --: |",
    ]
    bare = 1.0
    for line in found:
        bare = line.rate if line.what == "without the limiter" else bare
        cells = [f"{line.rate:,.0f}", f"{100 * line.rate / bare:.0f} %"]
        cells += [f"{each:.2f}" for each in (line.p50, line.p99, line.p999)]
        rows.append(f"| {line.server} | {line.what} | " + " | ".join(cells) + " |")
    return "\n".join(rows)
