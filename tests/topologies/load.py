"""A hundred calls a second, by threads or by tasks, and what became of each."""

import asyncio
import itertools
import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ratelimit_app.stores import Store, Take, Unavailable

WORKERS, A_SECOND = 10, 100


class Call(NamedTuple):
    """`kind` is `admitted`, `refused`, or what `Unavailable` says."""

    began: float
    took: float
    kind: str
    key: int


class Load:
    """Runs while its block does; `errors` is what was raised that must not be."""

    def __init__(self, store: Store, takes: Sequence[Take], way: str) -> None:
        self._store, self._takes = store, takes
        self._stop = threading.Event()
        self._next = itertools.count()
        self.calls: list[Call] = []
        self.errors: list[BaseException] = []
        work = [self._tasks] if way == "async" else [self._work] * WORKERS
        self._threads = [threading.Thread(target=self._guarded, args=(each,)) for each in work]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def run(self, seconds: float) -> float:
        """Let it run; the moment at which that ends."""
        self._stop.wait(seconds)
        return time.monotonic()

    def unavailable(self, since: float) -> float:
        """Seconds from then to the end of the last call that was not answered."""
        ends = [each.began + each.took for each in self._after(since) if self._failed(each)]
        return max(ends, default=since) - since

    def slowest(self) -> float:
        return max(call.took for call in self.calls)

    def kinds(self, since: float = 0.0) -> Counter[str]:
        return Counter(call.kind for call in self._after(since))

    def admitted(self) -> Counter[int]:
        """By key."""
        return Counter(call.key for call in self.calls if call.kind == "admitted")

    def _after(self, since: float) -> list[Call]:
        return [call for call in self.calls if call.began + call.took >= since]

    def _failed(self, call: Call) -> bool:
        return call.kind not in ("admitted", "refused")

    def _guarded(self, work: object) -> None:
        try:
            work()  # type: ignore[operator]
        except BaseException as error:
            self.errors.append(error)

    def _work(self) -> None:
        due = time.monotonic()
        while not self._stop.wait(max(0, due - time.monotonic())):
            due = max(due + WORKERS / A_SECOND, time.monotonic())
            key, began = self._key(), time.monotonic()
            try:
                kind = said(self._store.take([self._takes[key]])[0].allowed)
            except Unavailable as error:
                kind = error.kind
            self.calls.append(Call(began, time.monotonic() - began, kind, key))

    def _tasks(self) -> None:
        async def task() -> None:
            due = time.monotonic()
            while not self._stop.is_set():
                await asyncio.sleep(max(0, due - time.monotonic()))
                due = max(due + WORKERS / A_SECOND, time.monotonic())
                key, began = self._key(), time.monotonic()
                try:
                    kind = said((await self._store.atake([self._takes[key]]))[0].allowed)
                except Unavailable as error:
                    kind = error.kind
                self.calls.append(Call(began, time.monotonic() - began, kind, key))

        async def tasks() -> None:
            await asyncio.gather(*(task() for _ in range(WORKERS)))

        asyncio.run(tasks())

    def _key(self) -> int:
        return next(self._next) % len(self._takes)


def said(allowed: bool) -> str:
    return "admitted" if allowed else "refused"
