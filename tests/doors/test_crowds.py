"""Many requests at once through every door: exactly the limit, time standing still."""

import asyncio
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from ratelimit_app.conformance.crowds import THREADS, in_threads
from ratelimit_app.testing import override_policies

from .adapters import Door
from .site import CLIENT, PAGE, Site, aget

EACH = 5
HUNDRED = {"p": {"limit": 100, "period": 86_400}}


def in_tasks(number: int) -> int:
    """As many requests on one event loop; how many were admitted."""

    async def ask() -> int:
        answers = await asyncio.gather(*[aget(CLIENT, PAGE) for _ in range(number)])
        return sum(answer.status_code == 200 for answer in answers)

    return async_to_sync(ask)()


@pytest.mark.usefixtures("restless", "store")
def test_a_crowd_gets_exactly_the_limit(site: Site, way: tuple[Door, bool, bool]) -> None:
    """32 threads under WSGI, as many requests as tasks under ASGI."""
    door, _, asgi = way
    policy: dict[str, Any] = {**HUNDRED["p"], "path": PAGE if door.by_path else ""}
    site.open("p")
    with override_policies(p=policy):
        if asgi:
            admitted = in_tasks(THREADS * EACH)
        else:
            admitted = in_threads(lambda _: site.statuses(EACH).count(200))
    assert admitted == len(site.ran) == 100


def test_a_thousand_tasks(of: Any) -> None:
    site = of("function", is_async=True, asgi=True)
    site.open("p")
    with override_policies(HUNDRED):
        assert in_tasks(1000) == len(site.ran) == 100
