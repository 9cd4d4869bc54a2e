"""Rows that nobody should write, past every form: by a fixture, and by raw SQL.

The database refuses them, or they are left out; the policies beside them go on serving.
"""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.serializers.base import DeserializationError
from django.db import DatabaseError, connection, transaction
from django.test import Client

from ratelimit_app import limiter, refresh, sources
from ratelimit_app.models import Policy
from ratelimit_app.policies import Snapshot
from ratelimit_app.sources import DEFAULTS

from .values import NUMBERS, TEXTS

pytestmark = pytest.mark.django_db

#: Of numbers that no database driver takes.
ARITHMETIC = (ValueError, TypeError, OverflowError)
FIELDS = ["slug", "description", "limit", "period", *DEFAULTS, "revision", "typo"]
WRONG: list[Any] = [
    *(each for each in TEXTS if each.isprintable() or "\0" in each),
    *(each for each in NUMBERS if isinstance(each, (int, float))),
    *(None, True, [], ["GET", 1], [[[]]], {}, {"a": {}}),
]


@pytest.fixture
def site(settings: Any) -> Client:
    settings.MIDDLEWARE = ["ratelimit_app.middleware.RateLimitMiddleware"]
    # A unit comes back after an hour.
    Policy.objects.create(slug="good", limit=1_000, period=3_600_000, path="/**")
    return Client()


@pytest.mark.parametrize("field", FIELDS)
def test_a_fixture_of_nonsense_breaks_nothing(site: Client, field: str, tmp_path: Path) -> None:
    told = 0
    for wrong in WRONG:
        row = {"slug": "bad", "limit": 5, "period": "60", "path": "/**", field: wrong}
        file = tmp_path / "fixture.json"
        file.write_text(json.dumps([{"model": "ratelimit_app.policy", "fields": row}]))
        with undone():
            # Whoever loads it is told of what cannot be; whoever is served notices nothing.
            with contextlib.suppress(DeserializationError, DatabaseError, *ARITHMETIC):
                call_command("loaddata", str(file), verbosity=0)
                told -= 1
            told += 1
            assert_serves(site)
        assert_serves(site)
    # No database takes all of it.
    assert told or field in ("description", "revision")


@contextlib.contextmanager
def undone() -> Iterator[None]:
    """What is written in the block is not there after it."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
    # In a test only what is announced is looked for.
    refresh.keeper.forget()


def assert_serves(site: Client) -> None:
    """The good policy counts the request, unless the one beside it can be and refuses."""
    before = limiter.peek("good", key="192.0.2.1", cost=0).remaining or 0
    status = site.get("/nowhere/", REMOTE_ADDR="192.0.2.1").status_code
    after = limiter.peek("good", key="192.0.2.1", cost=0).remaining
    assert (status, after) in [(404, before - 1), (429, before)]


@pytest.mark.parametrize("column", [*sources.FIELDS, "description", "revision"])
def test_raw_sql_of_nonsense_breaks_nothing(column: str) -> None:
    for slug in ("good", "bad"):
        Policy.objects.create(slug=slug, limit=5, period=60, path="/x/**")
    name = connection.ops.quote_name(column)
    values = [each if isinstance(each, (str, int, float)) else json.dumps(each) for each in WRONG]
    for wrong in [*values, b"\xff"]:
        with contextlib.suppress(DatabaseError, *ARITHMETIC), undone():
            with connection.cursor() as cursor:
                cursor.execute(
                    f"UPDATE ratelimit_app_policy SET {name} = %s WHERE slug = 'bad'", [wrong]
                )
            # The database took it: it is read, and at most left out.
            served = Snapshot(sources.rows()).by_slug
            assert "good" in served
            assert len(served) <= 2
            assert sources.fingerprint()
