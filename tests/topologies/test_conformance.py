"""What every store must do, by a cluster of six nodes: all that tells a store from another.

What one bucket does by itself is the same script as on one server, and is not run again.
"""

from collections.abc import Callable, Iterator

import pytest
from django.core.cache.backends.redis import RedisCache

from ratelimit_app.conformance import MakeStore
from ratelimit_app.conformance.counting import *  # noqa: F403
from ratelimit_app.conformance.crowds import *  # noqa: F403
from ratelimit_app.conformance.giving import *  # noqa: F403
from ratelimit_app.conformance.promises import (  # noqa: F401
    test_a_call_takes_from_all_or_from_none,
)
from ratelimit_app.conformance.together import *  # noqa: F403
from ratelimit_app.stores import Store
from ratelimit_app.stores.cluster import Cluster as Topology
from tests.stores.stores import ClockedRedisStore

from .conftest import hang_up
from .servers import Cluster


@pytest.fixture(scope="module")
def make_store(cluster: Cluster) -> Iterator[MakeStore]:
    store = ClockedRedisStore(RedisCache(cluster.url, {}))

    def make(now: Callable[[], int]) -> Store:
        store.clock = now
        return store

    yield make
    assert type(store.topology) is Topology
    hang_up(store)
