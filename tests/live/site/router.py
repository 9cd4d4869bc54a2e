"""Keeps policies in a database of their own."""

from typing import Any


class Router:
    def db_for_read(self, model: Any, **hints: Any) -> str | None:
        return "rules" if model._meta.app_label == "ratelimit_app" else None

    db_for_write = db_for_read

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return (db == "rules") == (app_label == "ratelimit_app")
