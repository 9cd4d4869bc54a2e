"""Our own app as a site has it: policies from the settings, the store of an alias."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.test import override_settings

from benchmarks import site
from benchmarks.peers import Where
from benchmarks.policies import DIGEST, PLENTY, Rate
from ratelimit_app import refresh, stores
from ratelimit_app.stores import Quota, Store, Take


@contextmanager
def limited_by(where: Where) -> Iterator[Store]:
    """The app with its buckets there, and its policies loaded."""
    with override_settings(RATELIMIT={**site.RATELIMIT, "CACHE": where}):
        refresh.keeper.forget()
        refresh.keeper.current()
        yield stores.current()


def takes(count: int, rate: Rate = PLENTY, who: bytes = DIGEST) -> list[Take]:
    """One unit of each of so many policies, for one client."""
    names = [f"p{number}-{rate.limit}" for number in range(count)]
    return [Take(Quota(name, "gcra", rate.numbers, name), who) for name in names]


def take(store: Store, count: int = 1, rate: Rate = PLENTY) -> Callable[[], Any]:
    """A call of the store, after a first one that spends what `rate` leaves."""
    wanted, ask = takes(count, rate), store.take
    ask(wanted)
    return lambda: ask(wanted)
