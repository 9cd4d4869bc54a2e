"""Checks of what views name against the table: `check --deploy --database default`.

Not before: `migrate` may be about to bring the policy, and a test's database is empty.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError

from ratelimit_app import charging, sources
from ratelimit_app.checks import MIDDLEWARE, TAG
from ratelimit_app.coverage import throttle_slugs
from ratelimit_app.routes import routes
from ratelimit_app.scopes import full_name

#: Headers in which proxies say whose address it was.
_ADDRESSES = frozenset(
    {"x-forwarded-for", "forwarded", "x-real-ip", "x-client-ip", "true-client-ip"}
    | {"cf-connecting-ip", "fastly-client-ip", "x-cluster-client-ip"}
)
_SESSIONS = "django.contrib.sessions.middleware.SessionMiddleware"
_USERS = "django.contrib.auth.middleware.AuthenticationMiddleware"
#: What must stand before the limiter for a key to find anybody.
_NEEDED = {"session": _SESSIONS, "user": _USERS, "user_or_ip": _USERS}


def register_table_checks() -> None:
    register(check_named, Tags.database, TAG, deploy=True)


def check_named(databases: Iterable[str] | None = None, **kwargs: object) -> list[CheckMessage]:
    """Every slug that a view names must be in the table."""
    if sources.alias() not in (databases or ()):
        return []
    try:
        rows = {row["slug"]: row for row in sources.rows()}
    except (DatabaseError, ImproperlyConfigured):
        # Not migrated yet: the policies of the settings serve, and there is nothing to compare.
        return []
    views = dict(_by_views())
    return [
        *_unknown(sorted({*charging.named, *views} - set(rows)), views),
        *_costs(rows),
        *_chosen(rows),
        *_order(rows),
    ]


def _unknown(slugs: list[str], views: dict[str, str]) -> Iterator[CheckMessage]:
    for slug in slugs:
        yield Error(
            f"{views.get(slug, 'A decorated view')} names the policy {slug!r}, which does not "
            "exist, so it is not limited.",
            hint="Add the policy in the admin, or correct the name.",
            id="ratelimit_app.E007",
        )


def _costs(rows: dict[str, dict[str, Any]]) -> Iterator[CheckMessage]:
    for slug, costs in sorted(charging.named.items()):
        row = rows.get(slug)
        if row is None:
            continue
        given = {row["cost"] if cost is None else cost for cost in costs}
        if row["path"]:
            given.add(row["cost"])
        if len(given) > 1:
            yield Warning(
                f"The policy {slug!r} is charged by several doors with different costs "
                f"({', '.join(map(str, sorted(given)))}); on one request only the first counts.",
                hint="Give the same cost everywhere, or use a policy for each.",
                id="ratelimit_app.W004",
            )


def _chosen(rows: dict[str, dict[str, Any]]) -> Iterator[CheckMessage]:
    """Keys that a client may choose, so that it gets a fresh bucket whenever it likes."""
    for slug, row in sorted(rows.items()):
        if row["mode"] == "off":
            continue
        if row["key"] == "header":
            hint = "Count so only where the header is proven; silence this check then."
            if row["key_name"].lower() in _ADDRESSES:
                hint = "Count by ip, and name your proxies in RATELIMIT['TRUSTED_PROXIES']."
            yield Warning(
                f"The policy {slug!r} counts by the header {row['key_name']}, which a client "
                "chooses: all that do not send it share one bucket.",
                hint=hint,
                id="ratelimit_app.W005",
            )
        if row["key"] == "session":
            yield Warning(
                f"The policy {slug!r} counts by session: wherever the site begins one for "
                "anybody, a client gets a fresh bucket with each.",
                hint="Count by user_or_ip, or silence this check if sessions begin with a login.",
                id="ratelimit_app.W013",
            )


def _order(rows: dict[str, dict[str, Any]]) -> Iterator[CheckMessage]:
    """Who asks before the user is known hears of nobody."""
    order = list(settings.MIDDLEWARE)
    if MIDDLEWARE not in order:
        return
    after = order[order.index(MIDDLEWARE) + 1 :]
    for slug, row in sorted(rows.items()):
        needed = _NEEDED.get(row["key"])
        if row["path"] and row["mode"] != "off" and needed in after:
            yield Warning(
                f"The policy {slug!r} counts by {row['key']}, and MIDDLEWARE lists {MIDDLEWARE} "
                f"before {needed}, so it finds none.",
                hint=f"List RateLimitMiddleware after {needed}.",
                id="ratelimit_app.W014",
            )


def _by_views() -> Iterator[tuple[str, str]]:
    """Slugs named by views of Django REST Framework, with the view."""
    for route in routes():
        for slug in throttle_slugs(route.view):
            yield slug, full_name(route.view)
