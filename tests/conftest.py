"""What every test may use."""

import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

from ratelimit_app import sparingly
from tests.servers import NoServer, RedisServer

# Before anything imports it, so that a failure of the public suite shows its values.
pytest.register_assert_rewrite("ratelimit_app.conformance")

# Deadlines measure the machine's load, not the code. The blob lets a failure in CI be run again.
settings.register_profile("ratelimit_app", deadline=None, print_blob=True)
settings.load_profile("ratelimit_app")


@pytest.fixture(autouse=True)
def _says_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is logged sparingly would otherwise depend on which test came first."""
    monkeypatch.setattr(sparingly, "_INTERVAL", 0.0)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A private Redis, one for each xdist worker; its tests fail, and never skip, without one."""
    try:
        server = RedisServer()
    except NoServer as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    yield server
    server.stop()


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads are interrupted as often as Python can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(before)
