"""One cluster and one set of Sentinels for all tests that leave them as they were."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.cache.backends.redis import RedisCache

from ratelimit_app.stores.redis import RedisStore
from tests.stores.stores import PATIENT

from .servers import Cluster, Sentinels

#: Makes a store on an alias; leaves no connection open.
MakeStore = Callable[..., Any]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    made.stop()


@pytest.fixture
def own_cluster() -> Iterator[Callable[..., Cluster]]:
    """Makes clusters that a test may break."""
    made: list[Cluster] = []

    def make(*arguments: Any) -> Cluster:
        made.append(Cluster(*arguments))
        return made[-1]

    yield make
    for each in made:
        each.stop()


@pytest.fixture(scope="session")
def sentinels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sentinels]:
    made = Sentinels(tmp_path_factory.mktemp("sentinels"))
    yield made
    made.stop()


@pytest.fixture
def own_sentinels(tmp_path: Path) -> Iterator[Sentinels]:
    """That a test may break."""
    made = Sentinels(tmp_path)
    yield made
    made.stop()


def hang_up(store: RedisStore) -> None:
    """Leave no connection open."""
    store.clients.sync.connection_pool.disconnect()
    store.clients.hang_up()


@pytest.fixture
def make_redis_store() -> Iterator[MakeStore]:
    made: list[RedisStore] = []

    def make(
        location: Any, timeout: float = PATIENT, kind: type[RedisStore] = RedisStore, **params: Any
    ) -> RedisStore:
        made.append(kind(RedisCache(location, params), timeout=timeout))
        return made[-1]

    yield make
    for each in made:
        hang_up(each)
