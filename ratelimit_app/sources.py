"""Where policies are read from: the table in one query, or the settings while there is no table."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

from django.apps import apps
from django.db import OperationalError, ProgrammingError, connections, router, transaction
from django.db.models import Count, F, Sum

from .conf import conf

#: A policy's fields, as a snapshot needs them.
FIELDS = (
    "slug",
    "mode",
    "algorithm",
    "limit",
    "period",
    "burst",
    "key",
    "key_name",
    "path",
    "methods",
    "cost",
    "on_error",
    "ask_always",
    "lease",
    "generation",
)

#: What a policy from settings or code has where it says nothing.
DEFAULTS: Mapping[str, Any] = {
    "mode": "enforce",
    "algorithm": "gcra",
    "burst": None,
    "key": "ip",
    "key_name": "",
    "path": "",
    "methods": (),
    "cost": 1,
    "on_error": "open",
    "ask_always": False,
    "lease": None,
    "generation": 0,
}


#: Columns of later migrations: a new process serves by the table of before until `migrate` was run.
LATER = ("ask_always", "lease")


def rows() -> list[dict[str, Any]]:
    """The table, in one query; without the columns of `LATER` where it has none, in a second."""
    try:
        # In the transaction of a site a query that fails must not break it.
        with transaction.atomic(using=alias()) if _inside() else nullcontext():
            return list(_table().values(*FIELDS))
    except (OperationalError, ProgrammingError) as error:
        # "no such column", "Unknown column", "column … does not exist": as the database says it.
        # Where there is no table at all it may quote the query, names and all.
        told = str(error)
        if "column" not in told or not any(name in told for name in LATER):
            raise
    fields = [name for name in FIELDS if name not in LATER]
    later = {name: DEFAULTS[name] for name in LATER}
    return [{**row, **later} for row in _table().values(*fields)]


def _inside() -> bool:
    return connections[alias()].in_atomic_block


def fingerprint() -> str:
    """A value that changes with every write through the ORM, in one query."""
    # A revision has 40 bits; whatever else a fixture or SQL has written must not overflow the sum.
    found = _table().aggregate(rows=Count("pk"), sum=Sum(F("revision") % 2**40))
    return f"{found['rows']}:{found['sum']}"


def from_settings() -> Iterator[dict[str, Any]]:
    """The policies of `RATELIMIT["POLICIES"]`."""
    for fields in conf().policies:
        yield {**DEFAULTS, **fields, "slug": str(fields.get("slug", "")).lower()}


def alias() -> str:
    """The database of the policies: the one for writes, since a replica may lag behind an edit."""
    return router.db_for_write(apps.get_model("ratelimit_app", "Policy"))


def _table() -> Any:
    return apps.get_model("ratelimit_app", "Policy").objects.using(alias())


@contextmanager
def borrowed() -> Iterator[None]:
    """Leaves this thread's connection as it was, open or not: a fork must not inherit ours."""
    connection = connections[alias()]
    was_open = connection.connection is not None
    try:
        yield
    finally:
        if not was_open:
            connection.close()


def hang_up() -> None:
    """Close this thread's connection to that database."""
    connections[alias()].close()
