"""What a flood of refusals costs: the moment at which a limiter must not make things worse."""

import logging
import math
import time

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.servers import RedisServer

from .site import Site
from .test_trips import commands

#: Refusals in a row.
FLOOD = 30


@pytest.mark.parametrize("store", ["django-redis"], indirect=True)
def test_a_flood_of_refusals(
    site: Site, store: str, redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    """No query, a command a second, nothing written, and no line logged."""
    caplog.set_level(logging.INFO)
    site.limited("p", limit=1)
    assert site.statuses(3) == [200, 429, 429]
    caplog.clear()
    client = redis_server.client()
    client.config_resetstat()
    before = client.info("persistence")["rdb_changes_since_last_save"]

    begun = time.monotonic()
    with CaptureQueriesContext(connection) as queries:
        assert set(site.statuses(FLOOD)) == {429}
    seconds = time.monotonic() - begun

    assert len(queries) == 0
    assert commands(client).get("evalsha", 0) <= math.ceil(seconds)
    assert client.info("persistence")["rdb_changes_since_last_save"] == before
    assert caplog.records == []
    assert len(site.ran) == 1
