"""Timing of functions against each other: interleaved in rounds, so that noise hits all alike."""

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

ROUNDS = 15


def per_call(contenders: Mapping[str, Callable[[], Any]], calls: int) -> dict[str, float]:
    """The median of the rounds, in microseconds a call."""
    rounds: dict[str, list[float]] = {name: [] for name in contenders}
    gc.disable()
    try:
        for _ in range(ROUNDS):
            for name, function in contenders.items():
                rounds[name].append(_time(function, calls))
    finally:
        gc.enable()
    return {name: statistics.median(times) for name, times in rounds.items()}


def _time(function: Callable[[], Any], calls: int) -> float:
    started = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - started) / calls * 1e6
