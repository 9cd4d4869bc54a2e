"""What a door does that answers with Django's own responses: charge a request, or refuse it.

A fault of ours is logged and answered as `ON_ERROR` says; it is never the client's.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple, TypeAlias

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


class Named(NamedTuple):
    """A policy that stands before a view: a slug of the table, or one in code, with its methods."""

    slug: str
    in_code: bool = False
    #: As a policy's: none are all but OPTIONS.
    methods: frozenset[str] = frozenset()


#: Each policy is an attribute of its own: what wraps a view copies attributes, and may merge them.
_MARK = "_ratelimit_policy "


def mark(view: Any, slug: str, methods: Collection[str] = (), *, in_code: bool = False) -> None:
    """Note on a decorated view which policy it charges, for the report of what is covered."""
    found = Named(slug, in_code, frozenset(method.upper() for method in methods))
    setattr(view, _MARK + slug, found)


def marks(view: Any) -> Iterator[Named]:
    """The policies that decorators put before a view, however it was wrapped since."""
    while view is not None:
        found = [value for name, value in _attributes(view).items() if name.startswith(_MARK)]
        if found:
            yield from found
            return
        view = getattr(view, "func", getattr(view, "__wrapped__", None))


def _attributes(view: Any) -> dict[str, Any]:
    # Of a bound method they are the function's.
    return getattr(getattr(view, "__func__", view), "__dict__", {})


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
