"""`manage.py ratelimit check --coverage`: views that no policy covers, and policies without one."""

import json
from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandError, CommandParser, OutputWrapper

from ratelimit_app import refresh
from ratelimit_app.conf import conf
from ratelimit_app.coverage import Covered, coverage, has_middleware, unmatched
from ratelimit_app.policies import CompiledPolicy

from .base import remark, table_fault
from .words import table, where_words


def add_arguments(parser: CommandParser) -> None:
    """The options that `check` has for it."""
    parser.add_argument(
        "--coverage", action="store_true", help="go through all views instead of one request"
    )
    parser.add_argument(
        "--fail", action="store_true", help="with --coverage: end with 1 if a view is not covered"
    )
    parser.add_argument(
        "--output",
        choices=["text", "json"],
        default="text",
        help="how to print it (text)",
    )


def run(options: dict[str, Any], out: OutputWrapper, err: OutputWrapper) -> None:
    """See `SubCommand.run`."""
    snapshot = refresh.keeper.current()
    views = coverage(snapshot)
    left = unmatched(snapshot, views)
    if (reason := table_fault()) is not None:
        remark(err, f"The table cannot be read ({reason}); these are RATELIMIT['POLICIES'].")
    if not has_middleware() and any(policy.path for policy in snapshot.by_slug.values()):
        remark(err, "MIDDLEWARE lists no RateLimitMiddleware: policies with a path do not apply.")
    if not conf().enabled:
        remark(err, "Nothing is limited at all: RATELIMIT['ENABLED'] is False.")
    out.write(_as_json(views, left) if options["output"] == "json" else _as_text(views, left))
    missing = sum(not view.is_covered for view in views)
    if options["fail"] and missing:
        raise CommandError(f"{missing} of {len(views)} views are not covered whole.")


def _as_text(views: Sequence[Covered], left: Sequence[CompiledPolicy]) -> str:
    bare = [view for view in views if not view.covers]
    partly = [view for view in views if view.covers and not view.is_covered]
    whole = len(views) - len(bare) - len(partly)
    parts = [f"{len(views)} views: {whole} covered, {len(partly)} partly, {len(bare)} not."]
    if bare:
        rows = [("path", "name", "view"), *map(_about, bare)]
        parts.append(f"Not covered by any policy:\n\n{table(rows)}")
    if partly:
        rows = [
            ("path", "name", "view", "policies"),
            *((*_about(view), ", ".join(view.gaps)) for view in partly),
        ]
        parts.append(f"Covered in part:\n\n{table(rows)}")
    if left:
        rows = [("policy", "where"), *((policy.slug, where_words(policy)) for policy in left)]
        parts.append(f"Policies that stand before no view:\n\n{table(rows)}")
    return "\n\n".join(parts)


def _about(view: Covered) -> tuple[str, ...]:
    return (view.route.path, view.route.name, view.view)


def _as_json(views: Sequence[Covered], left: Sequence[CompiledPolicy]) -> str:
    found = {
        "views": [
            {
                "path": view.route.path,
                "name": view.route.name,
                "view": view.view,
                "covered": "whole" if view.is_covered else "partly" if view.covers else "not",
                "policies": [
                    {
                        "policy": cover.policy,
                        "methods": sorted(cover.methods),
                        "gap": cover.gap or None,
                    }
                    for cover in view.covers
                ],
            }
            for view in views
        ],
        "policies_without_view": [policy.slug for policy in left],
    }
    return json.dumps(found, indent=2)
