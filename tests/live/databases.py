"""A database for each site: a copy of a migrated SQLite file, or of a template on PostgreSQL."""

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

#: postgresql://user:password@host:port/name, as in tests/settings.py.
URL = os.environ.get("TEST_DATABASE_URL")


def sqlite(path: Path) -> dict[str, Any]:
    # The time-out is SQLite's wait for another writer.
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(path),
        "OPTIONS": {"timeout": 20},
    }


def postgresql(name: str, url: str | None = URL) -> dict[str, Any]:
    parts = urlsplit(str(url))
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": parts.username or "",
        "PASSWORD": parts.password or "",
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
    }


def copy(database: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The same in a database of its own; whoever holds it drops it with `drop`."""
    if "sqlite3" in database["ENGINE"]:
        path = folder / f"{uuid.uuid4().hex}.sqlite3"
        shutil.copy(database["NAME"], path)
        return {**database, "NAME": str(path)}
    made = {**database, "NAME": f"live_{uuid.uuid4().hex}"}
    with admin(database) as cursor:
        names = sql.Identifier(made["NAME"]), sql.Identifier(database["NAME"])
        cursor.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(*names))
    return made


def empty(folder: Path) -> dict[str, Any]:
    """One without any table."""
    if URL is None:
        return sqlite(folder / f"{uuid.uuid4().hex}.sqlite3")
    return copy(postgresql("template1"), folder)


def drop(database: dict[str, Any]) -> None:
    if "sqlite3" not in database["ENGINE"]:
        with admin(database) as cursor:
            name = sql.Identifier(database["NAME"])
            cursor.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


@contextmanager
def admin(database: dict[str, Any]) -> Iterator[psycopg.Cursor[Any]]:
    """The server's own database, to make and drop others from."""
    there = {name: database[name.upper()] for name in ("user", "password", "host", "port")}
    with (
        psycopg.connect(dbname="postgres", autocommit=True, **there) as connection,
        connection.cursor() as cursor,
    ):
        yield cursor
