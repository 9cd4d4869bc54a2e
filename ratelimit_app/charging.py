"""What a door does that answers with Django's own responses: charge a request, or refuse it.

A fault of ours is logged and answered as `ON_ERROR` says; it is never the client's.
"""

from collections.abc import Callable
from typing import TypeAlias

from django.http import HttpRequest, HttpResponse

from . import limiter, refresh, responses
from .conf import conf
from .policies import CompiledPolicy, Snapshot

#: Policies to charge, each with its cost.
Wanted: TypeAlias = list[tuple[CompiledPolicy, int]]

#: The slugs that views name and the costs they give, for the checks; None is the policy's own.
named: dict[str, set[int | None]] = {}


def name(slug: str, cost: int | None = None) -> None:
    """Say, once and when the code is loaded, that a view names a policy of the table."""
    named.setdefault(slug, set()).add(cost)


def charge(request: HttpRequest, find: Callable[[Snapshot], Wanted]) -> HttpResponse | None:
    """A refusal, or None: the view may run. `find` says which policies of the snapshot."""
    if not conf().enabled:
        return None
    try:
        wanted = find(refresh.keeper.current())
        verdict = limiter.check(request, wanted) if wanted else None
    except Exception as error:
        return responses.broken(request, error)
    return None if verdict is None or verdict.allowed else responses.refuse(request, verdict)


async def acharge(request: HttpRequest, find: Callable[[Snapshot], Wanted]) -> HttpResponse | None:
    """`charge`, without blocking the event loop."""
    if not conf().enabled:
        return None
    try:
        wanted = find(await refresh.keeper.acurrent())
        verdict = await limiter.acheck(request, wanted) if wanted else None
    except Exception as error:
        return await responses.abroken(request, error)
    if verdict is None or verdict.allowed:
        return None
    return await responses.arefuse(request, verdict)
