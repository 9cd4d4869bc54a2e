"""Timing of contenders against each other: interleaved in rounds, so that noise hits all alike."""

import gc
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

#: Many short slices rather than few long ones: what else the machine does then falls into few of
#: them, and the median does not see it. Seconds.
SLICE, ROUNDS = 0.005, 61

#: Runs a contender so many times and returns the seconds that it took.
Timed: TypeAlias = Callable[[int], float]


class Spread(NamedTuple):
    """Of the rounds: the median, and the quarters around it; microseconds a call."""

    low: float
    median: float
    high: float


#: By contender, in its order.
Times: TypeAlias = dict[str, Spread]


def loop(function: Callable[[], Any]) -> Timed:
    """One call after the other in this thread."""

    def timed(calls: int) -> float:
        started = time.perf_counter()
        for _ in range(calls):
            function()
        return time.perf_counter() - started

    return timed


def over_keys(function: Callable[[str], Any], keys: list[str]) -> Timed:
    """As `loop`, with the next of `keys` each time; goes on where the last round has ended."""
    at = 0

    def timed(calls: int) -> float:
        nonlocal at
        wanted = [keys[(at + step) % len(keys)] for step in range(calls)]
        at += calls
        started = time.perf_counter()
        for key in wanted:
            function(key)
        return time.perf_counter() - started

    return timed


def awaited(
    function: Callable[[], Awaitable[Any]], run: Callable[[Awaitable[float]], float]
) -> Timed:
    """One await after the other in one task; `run` runs it on an event loop that goes on."""

    async def timed(calls: int) -> float:
        started = time.perf_counter()
        for _ in range(calls):
            await function()
        return time.perf_counter() - started

    return lambda calls: run(timed(calls))


def per_call(contenders: Mapping[str, Timed], failed: Callable[[str, Exception], None]) -> Times:
    """Every contender once in every round, each round from another start.

    One that raises takes no further part; `failed` is told of it.
    """
    slices: dict[str, int] = {}
    for name, timed in contenders.items():
        try:
            # Connections, scripts and caches are there before anything is timed.
            timed(10)
            slices[name] = max(1, round(SLICE * 10 / timed(10)))
        except Exception as error:
            failed(name, error)
    times: dict[str, list[float]] = {name: [] for name in slices}
    gc.collect()
    gc.disable()
    try:
        for turn in range(ROUNDS):
            names = list(times)
            start = turn % len(names)
            for name in names[start:] + names[:start]:
                calls = slices[name]
                try:
                    times[name].append(contenders[name](calls) / calls * 1e6)
                except Exception as error:
                    failed(name, error)
                    del times[name]
    finally:
        gc.enable()
    return {name: spread(found) for name, found in times.items()}


def spread(times: list[float]) -> Spread:
    low, median, high = statistics.quantiles(times, n=4, method="inclusive")
    return Spread(low, median, high)
