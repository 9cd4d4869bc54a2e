"""What is well and what is not with the limiter of this site, each finding with its fix.

It works while Redis or the database is down, hangs or is something else, and finds what it can.
"""

from collections.abc import Iterator

from django.http import HttpRequest

from .findings import Finding, guarded
from .policies import of_policies, of_snapshot
from .process import of_breaker, of_decisions, of_pool
from .site import of_checks, of_request, of_secret
from .store import of_store


def examine(request: HttpRequest | None = None) -> Iterator[Finding]:
    """Looks at one thing after the other; a `request` tells more of the server before the site.

    Each question to Redis is bounded by `DEADLINE`, and after one without an answer no more are
    asked. Nothing is written but buckets of its own, which are gone two seconds later, and the
    moment since when the state is there.
    """
    yield from guarded("secret", of_secret)
    yield from guarded("store", of_store)
    yield from guarded("breaker", of_breaker)
    yield from guarded("connections", of_pool)
    yield from guarded("decisions without the store", of_decisions)
    if request is not None:
        yield from guarded("server", of_request, request)
    # The database last: it has no deadline of ours.
    yield from guarded("policies", of_snapshot)
    yield from guarded("views", of_policies)
    yield from of_checks()


__all__ = ["Finding", "examine"]
