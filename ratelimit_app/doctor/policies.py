"""The policies that this process obeys: where they are from, how old, and what each is good for."""

import time
from collections.abc import Iterator

from ratelimit_app.conf import conf
from ratelimit_app.coverage import coverage, has_middleware, unmatched
from ratelimit_app.refresh import keeper

from .findings import Finding


def of_snapshot() -> Iterator[Finding]:
    """Loads it if there is none."""
    snapshot = keeper.current()
    age, number = time.monotonic() - keeper.loaded, len(snapshot.by_slug)
    from_table = f"{number} from the table, read {age:.1f} s ago"
    if keeper.failed is not None:
        # Never read: the age is endless.
        serving = from_table if keeper.loaded > 0 else f"{number} from RATELIMIT['POLICIES']"
        yield Finding(
            "policies",
            "error",
            f"the table cannot be read ({keeper.failed}); serving: {serving}",
            "Run manage.py migrate, or see whether the database runs.",
        )
    elif age > 2 * conf().reload:
        yield Finding(
            "policies",
            "warning",
            f"{from_table}, and RELOAD is {conf().reload:g} s",
            "See that threads run in this server (uWSGI: enable-threads).",
        )
    else:
        yield Finding("policies", "ok", from_table)
    for slug, why in snapshot.left_out.items():
        yield Finding(f"policy {slug}", "error", f"left out: {why}", "Correct it in the admin.")
    if not conf().enabled:
        yield Finding(
            "policies",
            "warning",
            "nothing is limited: RATELIMIT['ENABLED'] is False",
            "Set it to True, or leave it out.",
        )


def of_policies() -> Iterator[Finding]:
    """Against the views of the site."""
    snapshot = keeper.current()
    if not has_middleware() and any(policy.path for policy in snapshot.by_slug.values()):
        yield Finding(
            "middleware",
            "warning",
            "MIDDLEWARE lists no RateLimitMiddleware: policies with a path do not apply",
            "List ratelimit_app.middleware.RateLimitMiddleware; our throttle of Django REST "
            "Framework needs none.",
        )
    views = coverage(snapshot)
    if left := unmatched(snapshot, views):
        yield Finding(
            "policies without a view",
            "warning",
            ", ".join(policy.slug for policy in left),
            "Correct the path or the name; or leave it, if code takes it by limiter.take.",
        )
    bare = sum(not view.is_covered for view in views)
    yield Finding(
        "views",
        "ok",
        f"{len(views) - bare} of {len(views)} are covered whole; see "
        "manage.py ratelimit check --coverage",
    )
