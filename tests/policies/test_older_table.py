"""Processes of this release that start before `migrate` was run: the table of before serves."""

from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.db import connection, transaction

from ratelimit_app import limiter, sources
from ratelimit_app.models import Policy
from ratelimit_app.policies import Snapshot

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def before() -> Iterator[None]:
    """The table of release 0.1, with a policy in it."""
    Policy.objects.create(slug="login", limit=5, period=3600)
    call_command("migrate", "ratelimit_app", "0001", verbosity=0)
    yield
    call_command("migrate", "ratelimit_app", verbosity=0)


def test_every_column_that_is_newer_is_known():
    """A field that a later migration adds belongs into `LATER`."""
    call_command("migrate", "ratelimit_app", "0001", verbosity=0)
    try:
        with connection.cursor() as cursor:
            table = connection.introspection.get_table_description(cursor, Policy._meta.db_table)
        assert {*sources.FIELDS} - {column.name for column in table} == {*sources.LATER}
    finally:
        call_command("migrate", "ratelimit_app", verbosity=0)


@pytest.mark.usefixtures("before")
def test_the_policies_of_an_older_table_limit():
    admitted = [limiter.take("login", key="192.0.2.1").allowed for _ in range(6)]
    assert admitted == [True] * 5 + [False]


@pytest.mark.usefixtures("before")
def test_a_column_that_is_missing_breaks_no_transaction_of_the_site():
    with transaction.atomic():
        snapshot = Snapshot(sources.rows(), strict=True)
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    policy = snapshot.by_slug["login"]
    assert (policy.quota.ask_always, policy.quota.lease) == (False, 1)
