"""The memory store runs on the monotonic clock: a wall that steps changes nothing."""

import time

import pytest

from ratelimit_app.algorithms import ALGORITHMS, Limit
from ratelimit_app.conformance.subject import MIDNIGHT
from ratelimit_app.stores.base import Quota, Take
from ratelimit_app.stores.memory import MemoryStore

HOUR = 3600 * 10**9


class Clocks:
    """Those of the machine, in ns."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.wall, self.monotonic = MIDNIGHT * 10**6, 12_345 * 10**6
        for name in ("time", "monotonic"):
            patch.setattr(time, f"{name}_ns", lambda name=name: self.ns(name))
            patch.setattr(time, name, lambda name=name: self.ns(name) / 10**9)

    def ns(self, name: str) -> int:
        return self.wall if name == "time" else self.monotonic


@pytest.mark.parametrize("algorithm", list(ALGORITHMS))
@pytest.mark.parametrize("step", [-24 * HOUR, -HOUR, -(10**9), 10**9, HOUR, 24 * HOUR])
def test_a_wall_that_steps_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, algorithm: str, step: int
):
    clocks = Clocks(monkeypatch)
    store = MemoryStore()
    take = Take(Quota("p", algorithm, Limit(10, 60_000, 10), "tag"), bytes(15))
    allowed = [store.take([take])[0].allowed for _ in range(11)]
    assert allowed == [True] * 10 + [False]
    (before,) = store.take([take])

    clocks.wall += step

    assert store.take([take]) == [before]
    store.sweep()
    assert len(store) == 1
    assert before.retry_after
    clocks.monotonic += round(before.retry_after * 1000) * 10**6 - 10**6
    assert not store.take([take])[0].allowed
    clocks.monotonic += 10**6
    assert store.take([take])[0].allowed


def test_windows_are_aligned_to_the_epoch_by_the_wall_at_the_start(
    monkeypatch: pytest.MonkeyPatch,
):
    clocks = Clocks(monkeypatch)
    clocks.wall += 45 * 10**9
    store = MemoryStore()
    take = Take(Quota("p", "fixed_window", Limit(1, 60_000, 1), "tag"), bytes(15))
    clocks.wall -= HOUR
    assert store.take([take])[0].reset_after == 15
