"""Runs the hits of a trace against a store whose clock is the trace's."""

import secrets
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, TypeAlias

from django.core.cache import caches
from django.core.management.base import CommandError

from ratelimit_app import stores
from ratelimit_app.algorithms import Decision
from ratelimit_app.conf import conf
from ratelimit_app.digests import digest
from ratelimit_app.policies import CompiledPolicy
from ratelimit_app.stores import Take
from ratelimit_app.stores.memory import MemoryStore
from ratelimit_app.traces import Hit
from ratelimit_app.verdict import checked_cost, nothing

#: Takes, each with its time in milliseconds, in the order of time.
Moments: TypeAlias = Sequence[tuple[int, Take]]
Batch: TypeAlias = Callable[[Moments], list[Decision]]

#: How many hits go to Redis in one round trip.
_BATCH = 256
#: Seconds that a trip may take. Nobody waits for a page here, so it is longer than `TIMEOUT`.
_TIMEOUT = 5.0


def replayed(
    hits: Sequence[Hit], policy: CompiledPolicy, batch: Batch
) -> Iterator[tuple[Hit, Decision]]:
    """Each hit with what the policy says to it; `hits` are in the order of time."""
    # Keys of this run alone, whatever else is on that Redis.
    quota = replace(policy.quota, tag=f"replay-{secrets.token_hex(8)}")
    digests: dict[str, bytes] = {}
    for start in range(0, len(hits), _BATCH):
        some = hits[start : start + _BATCH]
        if not quota.limit.limit:
            yield from ((hit, nothing(policy, checked_cost(hit.cost))) for hit in some)
            continue
        moments = []
        for hit in some:
            if hit.key not in digests:
                digests[hit.key] = digest(("replay", hit.key))
            moments.append((hit.t, Take(quota, digests[hit.key], checked_cost(hit.cost))))
        yield from zip(some, batch(moments), strict=True)


@contextmanager
def in_memory() -> Iterator[Batch]:
    """The buckets of this process, as many as there are keys."""
    now = 0
    store = MemoryStore(sys.maxsize, lambda: now)

    def take(moment: tuple[int, Take]) -> Decision:
        nonlocal now
        now, asked = moment
        return store.take([asked])[0]

    yield lambda moments: [take(moment) for moment in moments]


@contextmanager
def on_redis() -> Iterator[Batch]:
    """The Redis of `RATELIMIT["CACHE"]`; deletes what it wrote, also on an error or Ctrl-C."""
    # A setting that names no cache at all is told there.
    stores.current()
    cache = caches[conf().cache]
    if stores.kind(cache) != "redis":
        raise CommandError(
            f"--store redis needs a Redis, and RATELIMIT['CACHE'] ({conf().cache!r}) is a "
            f"{type(cache).__name__}: use --store memory, or name a Redis cache there."
        )
    from ratelimit_app.stores.traced import TraceRedisStore  # needs redis, which memory does not

    store = TraceRedisStore(cache, _TIMEOUT)
    asked: dict[bytes, Take] = {}
    with _Signals() as signals:

        def batch(moments: Moments) -> list[Decision]:
            asked.update((take.identity, take) for _, take in moments)
            with signals.held():
                return store.take_each(moments)

        try:
            yield batch
            signals.hold()
        finally:
            signals.hold()
            try:
                store.forget(asked.values())
            finally:
                store.close()


class _Signals:
    """Ctrl-C and kill, held back during a trip: what was sent might run after the clean-up."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._holding = False
        self._arrived: int | None = None

    def __enter__(self) -> "_Signals":
        names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
        # Python lets only the main thread listen. What is ignored (nohup) stays ignored.
        if threading.current_thread() is threading.main_thread():
            for number in [getattr(signal, name) for name in names]:
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *_exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._release()

    def hold(self) -> None:
        """From now on a signal waits for the end."""
        self._holding = True

    @contextmanager
    def held(self) -> Iterator[None]:
        """A signal waits for the end of the block."""
        self.hold()
        try:
            yield
        finally:
            self._holding = False
            self._release()

    def _receive(self, number: int, _frame: object) -> None:
        self._arrived = number
        if not self._holding:
            self._release()

    def _release(self) -> None:
        number, self._arrived = self._arrived, None
        if number is None:
            return
        # A second one, of somebody in a hurry, must not stop the clean-up.
        self._holding = True
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)


#: The stores of `--store`, each opened for one run.
STORES: dict[str, Callable[[], AbstractContextManager[Batch]]] = {
    "memory": in_memory,
    "redis": on_redis,
}
