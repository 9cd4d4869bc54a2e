"""This process: its connections, its breaker, and what it had to decide without the store."""

from collections.abc import Iterator

from ratelimit_app import outage, stores
from ratelimit_app.stores.faults import FIXES

from .findings import Finding, sentence


def of_breaker() -> Iterator[Finding]:
    """Whether requests of this process are answered without asking Redis."""
    breaker = getattr(stores.innermost(), "breaker", None)
    if breaker is None:
        return
    if not breaker.is_open:
        yield Finding("breaker", "ok", "closed: this process asks Redis")
        return
    yield Finding("breaker", "warning", f"open: {FIXES['breaker']}", "See what is said of Redis.")


def of_pool() -> Iterator[Finding]:
    """The connections of the sync doors."""
    clients = getattr(stores.innermost(), "clients", None)
    if clients is None:
        return
    connected, idle, most = clients.wire.usage
    found = f"{connected} open, {idle} idle, at most {most}"
    if connected < most or idle:
        yield Finding("connections", "ok", found)
        return
    yield Finding("connections", "warning", found, sentence(FIXES["pool"]))


def of_decisions() -> Iterator[Finding]:
    """The counts of `outage`, by kind."""
    if not outage.counts:
        yield Finding("decisions without the store", "ok", "none in this process")
        return
    counts = ", ".join(f"{count:,} {kind}" for kind, count in outage.counts.most_common())
    ((kind, _),) = outage.counts.most_common(1)
    yield Finding(
        "decisions without the store",
        "warning",
        f"in this process since its start: {counts}",
        f"Mostly: {FIXES.get(kind, kind)}",
    )
