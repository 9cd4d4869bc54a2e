"""Which lock the memory store should take: `python -m benchmarks.locking`.

The same algorithm and dict behind one lock, 16 shards, and a lock for each key, as the store takes
them: a refusal is read without the lock where that is safe. Each is asked by 1, 2, 4 and 8 threads,
for one key and for many.
"""

import statistics
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from benchmarks.policies import ONE, PLENTY
from ratelimit_app.algorithms import Limit, gcra
from ratelimit_app.stores.memory import clock

THREADS = (1, 2, 4, 8)
KEYS = [f"client {number:07}".encode() for number in range(10_000)]
#: Takes of all threads together in a round, and how many rounds.
TAKES, ROUNDS = 16_000, 7


class Kept(Protocol):
    def take(self, key: bytes, limit: Limit) -> bool: ...


class OneLock:
    """All keys behind one lock, which a refusal takes as well."""

    #: Whether a state is looked at before the lock is asked for.
    looks = False

    def __init__(self) -> None:
        self.lock, self.states, self.now = threading.Lock(), dict[bytes, int](), clock()

    def place(self, key: bytes) -> tuple[threading.Lock, dict[bytes, int]]:
        return self.lock, self.states

    def take(self, key: bytes, limit: Limit) -> bool:
        lock, states = self.place(key)
        state = states.get(key)
        if self.looks:
            new, allowed, *_ = gcra.take(state, limit, 1, self.now())
            if new is None:
                return allowed
        with lock:
            found = states.get(key)
            if found is not state or not self.looks:
                new, allowed, *_ = gcra.take(found, limit, 1, self.now())
            if new is not None:
                states[key] = new
        return allowed


class OneLockLooking(OneLock):
    """All keys behind one lock; a refusal needs none."""

    looks = True


class Shards(OneLock):
    """16 shares of the keys, each behind a lock; a refusal needs none."""

    looks = True

    def __init__(self) -> None:
        super().__init__()
        self.shards = [(threading.Lock(), dict[bytes, int]()) for _ in range(16)]

    def place(self, key: bytes) -> tuple[threading.Lock, dict[bytes, int]]:
        return self.shards[key[-1] % 16]


class LockPerKey(OneLock):
    """A lock for each key, made when the key is first seen; a refusal needs none."""

    looks = True

    def __init__(self) -> None:
        super().__init__()
        self.locks = dict[bytes, threading.Lock]()

    def place(self, key: bytes) -> tuple[threading.Lock, dict[bytes, int]]:
        lock = self.locks.get(key)
        if lock is None:
            lock = self.locks.setdefault(key, threading.Lock())
        return lock, self.states


KINDS: dict[str, type[OneLock]] = {
    "one lock, refusals too": OneLock,
    "one lock": OneLockLooking,
    "16 shards": Shards,
    "a lock per key": LockPerKey,
}


class Line(NamedTuple):
    """Microseconds of wall time a take, all threads together, by number of threads."""

    kind: str
    keys: int
    outcome: str
    cost: tuple[float, ...]


def lines() -> Iterator[Line]:
    for outcome, limit in (("admitted", PLENTY.numbers), ("refused", ONE.numbers)):
        for keys in (KEYS[:1], KEYS):
            kept = {name: kind() for name, kind in KINDS.items()}
            for each in kept.values():
                for key in keys:
                    each.take(key, limit)
            times: dict[tuple[str, int], list[float]] = {}
            for _ in range(ROUNDS):
                for threads in THREADS:
                    for name, each in kept.items():
                        taken = _time(each, keys, limit, threads)
                        times.setdefault((name, threads), []).append(taken)
            for name in KINDS:
                cost = tuple(statistics.median(times[name, threads]) for threads in THREADS)
                yield Line(name, len(keys), outcome, cost)


def _time(kept: Kept, keys: list[bytes], limit: Limit, threads: int) -> float:
    start, each = threading.Barrier(threads + 1), TAKES // threads

    def work(number: int) -> None:
        wanted = [keys[(number * each + step) % len(keys)] for step in range(each)]
        start.wait()
        for key in wanted:
            kept.take(key, limit)

    running = [threading.Thread(target=work, args=[number]) for number in range(threads)]
    for thread in running:
        thread.start()
    start.wait()
    started = time.perf_counter()
    for thread in running:
        thread.join()
    return (time.perf_counter() - started) / TAKES * 1e6


def held(kind: Callable[[], Kept]) -> float:
    """Bytes a key."""
    tracemalloc.start()
    try:
        kept = kind()
        before, _ = tracemalloc.get_traced_memory()
        for key in KEYS:
            kept.take(key, PLENTY.numbers)
        return (tracemalloc.get_traced_memory()[0] - before) / len(KEYS)
    finally:
        tracemalloc.stop()


def interpreter() -> str:
    """Whether one lock of the interpreter already keeps its threads apart."""
    enabled = getattr(sys, "_is_gil_enabled", lambda: True)()
    return f"Python {sys.version.split()[0]}, {'with' if enabled else 'without'} the global lock"


def table() -> str:
    head = ["", "keys", "outcome", *(f"{n} thread{'s' * (n > 1)}" for n in THREADS), "bytes a key"]
    rows = [head, [":--", "--:", ":--"] + ["--:"] * (len(THREADS) + 1)]
    room = {name: f"{held(kind):,.0f}" for name, kind in KINDS.items()}
    for line in lines():
        cost = [f"{each:.2f}" for each in line.cost]
        rows.append([line.kind, f"{line.keys:,}", line.outcome, *cost, room[line.kind]])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


if __name__ == "__main__":
    print(interpreter(), "\n\n" + table(), sep="")
