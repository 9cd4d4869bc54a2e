"""For sites' own tests: policies for one test, fresh buckets, and a clock to move.

In a test every change to the table is seen at once, inside a `TestCase`'s transaction too, and
each test counts from zero, in whatever store. Nothing of this touches the site's cache.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from . import digests, refresh, sources, stores
from .policies import Snapshot
from .stores.memory import MemoryStore, clock


def reset() -> None:
    """Make everybody's buckets fresh, in this process."""
    digests.freshen()


@contextmanager
def override_policies(
    policies: Mapping[str, Mapping[str, Any]] | None = None, /, **by_slug: Mapping[str, Any]
) -> Iterator[None]:
    """These policies and no others, without a database: `override_policies(login={"limit": 5, …})`.

    Each value has the fields of a policy, of which `limit` and `period` (seconds) are needed. A
    slug that is no Python name goes into a dict: `override_policies({"api-search": {…}})`.
    """
    for slug, fields in {**(policies or {}), **by_slug}.items():
        unknown = set(fields) - {"limit", "period", "description", *sources.DEFAULTS}
        if unknown:
            raise ValueError(f"Policy {slug!r}: there is no field {sorted(unknown)[0]!r}.")
    rows = [
        {**sources.DEFAULTS, "slug": slug, **fields}
        for slug, fields in {**(policies or {}), **by_slug}.items()
    ]
    with refresh.keeper.pinned(Snapshot(rows, strict=True)):
        reset()
        yield


class Clock:
    """Milliseconds that pass only when told to."""

    def __init__(self) -> None:
        self._now = clock()()

    def __call__(self) -> int:
        return self._now

    def move(self, seconds: float) -> None:
        """Let time pass; a negative number steps the clock back."""
        self._now += round(seconds * 1000)


@contextmanager
def moving_clock() -> Iterator[Clock]:
    """Buckets in a memory store whose clock is yours to move: `clock.move(60)`."""
    moved = Clock()
    with stores.pinned(MemoryStore(now=moved)):
        yield moved
