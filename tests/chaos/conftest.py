"""A site with three kinds of policies on a Redis of its own, and a client that does not wait."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.live.conftest import make_site, migrated
from tests.live.processes import Server, Site
from tests.servers import RedisServer

# Before anything imports it, so that what fails there shows its values.
pytest.register_assert_rewrite("tests.chaos.outcomes")

from .load import Asked, Load  # noqa: E402
from .outcomes import KINDS, POLICIES  # noqa: E402
from .proxy import Proxy  # noqa: E402

__all__ = ["make_site", "migrated"]

#: Requests a second.
RATE = 200
#: As a site has them that sets nothing.
DEFAULTS = {"TIMEOUT": 0.1, "DEADLINE": 0.25}
#: Eight threads in each of two processes.
THREADS = ("--threads", "8")

MakeSite = Callable[..., Site]


@pytest.fixture
def server() -> Iterator[RedisServer]:
    """A Redis that a test may break."""
    started = RedisServer()
    yield started
    started.stop()


@pytest.fixture
def proxy(server: RedisServer) -> Iterator[Proxy]:
    made = Proxy(server.port)
    yield made
    made.close()


@pytest.fixture
def make(make_site: Callable[..., Site]) -> MakeSite:
    """A site on the Redis at this address, with the policies of `outcomes`."""

    def made(redis: str, **more: Any) -> Site:
        site = make_site(redis=redis, **{"ratelimit": DEFAULTS, **more})
        site.editor().run(POLICIES)
        return site

    return made


def everybody(number: int) -> Asked:
    """Policies in turn; every other request is of one client who never lets go."""
    who = "greedy" if number % 2 else f"new-{number}"
    return Asked(f"/{KINDS[number % 3]}/", who)


def load(*servers: Server, rate: float = RATE, asks: Callable[[int], Asked] = everybody) -> Load:
    return Load([server.port for server in servers], rate, asks)
