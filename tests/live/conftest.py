"""Sites for the tests, each with a database of its own."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers import RedisServer

from . import databases
from .processes import Site


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """A database with the tables, to copy from."""
    folder = tmp_path_factory.mktemp("migrated")
    with Site(folder, databases.empty(folder)) as site:
        site.manage("migrate", "--verbosity", "0")
        yield site.databases["default"]


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """A Redis without anybody else's keys."""
    with redis_server.client() as client:
        client.flushall()
    return redis_server.url


@pytest.fixture
def make_site(tmp_path: Path, migrated: dict[str, Any]) -> Iterator[Callable[..., Site]]:
    """Makes sites whose tables are there; none of their processes is left after the test."""
    with contextlib.ExitStack() as running:

        def make(**options: Any) -> Site:
            folder = tmp_path / f"site-{len(list(tmp_path.iterdir()))}"
            folder.mkdir()
            database = databases.copy(migrated, folder)
            return running.enter_context(Site(folder, database, **options))

        yield make
