"""The door for one view: `@rate_limit("login")` on functions, methods, classes; sync and async."""

import functools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse

from . import limiter, refresh, responses
from .conf import conf
from .policies import CompiledPolicy, Snapshot, compiled
from .rates import parse_rate
from .sources import DEFAULTS
from .sparingly import Sparingly
from .validators import key_problem, number_problems
from .verdict import checked_cost

V = TypeVar("V", bound=Callable[..., Any])

_unknown = Sparingly(logging.getLogger("ratelimit_app"))


@dataclass(frozen=True, slots=True)
class _Named:
    """A policy of the table, by its slug: it may be edited, and is looked up for each request."""

    slug: str
    cost: int | None

    def wanted(self, snapshot: Snapshot, _scope: str) -> list[tuple[CompiledPolicy, int]]:
        policy = snapshot.by_slug.get(self.slug)
        if policy is None:
            _unknown.warning("A view names the policy %r, which does not exist.", self.slug)
            return []
        return [(policy, policy.cost if self.cost is None else self.cost)]


@dataclass(frozen=True, slots=True)
class _InCode:
    """A policy written beside its view; compiled once for each name."""

    fields: dict[str, Any]
    cost: int
    made: dict[str, CompiledPolicy]

    def wanted(self, _snapshot: Snapshot, scope: str) -> list[tuple[CompiledPolicy, int]]:
        name = self.fields["slug"] or scope
        if name not in self.made:
            self.made[name] = compiled({**self.fields, "slug": name}, origin="code")
        return [(self.made[name], self.cost)]


def rate_limit(
    policy: str | None = None,
    *,
    cost: int | None = None,
    limit: int | None = None,
    period: float | None = None,
    burst: int | None = None,
    key: str = "ip",
    key_name: str = "",
    algorithm: str = "gcra",
    methods: Sequence[str] = (),
    on_error: str = "open",
    name: str = "",
) -> Callable[[V], V]:
    """Charge a policy before the view runs; a refusal is the response instead of the view's.

    `policy` is a slug of the table (`"login"`), or a rate (`"5/m"`); or give `limit` and `period`
    (seconds). A policy in code is counted under `name`, by default the view's module and name, so
    that two views never share a bucket by accident. `cost` is a whole number of units, 0 or more.
    Raises `ValueError` where the policy cannot be.
    """
    if policy is not None and "/" not in policy:
        if (limit, period, burst) != (None, None, None):
            raise ValueError(f"{policy!r} is a policy of the table; its numbers are edited there.")
        door: _Named | _InCode = _Named(policy, None if cost is None else checked_cost(cost))
    else:
        if policy is not None:
            limit, period = parse_rate(policy)
        if limit is None or period is None:
            raise ValueError(
                "Give a slug, a rate such as '5/m', or limit=… and period=… (seconds)."
            )
        fields = {
            **DEFAULTS,
            "slug": name,
            "algorithm": algorithm,
            "limit": limit,
            # The digits as written: 0.3, and not the double next to it.
            "period": Decimal(str(period)),
            "burst": burst,
            "key": key,
            "key_name": key_name,
            "methods": tuple(methods),
            "on_error": on_error,
        }
        _validate(fields)
        door = _InCode(fields, checked_cost(1 if cost is None else cost), {})
    return functools.partial(_decorate, door)


def _validate(fields: dict[str, Any]) -> None:
    found = [
        key_problem(fields["key"], fields["key_name"], conf().keys),
        *[
            problem
            for _, problem in number_problems(
                fields["algorithm"], fields["limit"], fields["period"], fields["burst"]
            )
        ],
    ]
    for problem in filter(None, found):
        raise ValueError(problem)
    compiled({**fields, "slug": "code"}, origin="code")


def _decorate(door: _Named | _InCode, view: Any) -> Any:
    if isinstance(view, type):
        # A class-based view: every method goes through dispatch.
        inner: Any = view.dispatch  # type: ignore[attr-defined]
        scope = f"{view.__module__}.{view.__qualname__}"
        view.dispatch = _wrapped(door, inner, scope)  # type: ignore[attr-defined]
        return view
    return _wrapped(door, view, _scope(view))


def _wrapped(door: _Named | _InCode, view: Any, scope: str) -> Any:
    async def arun(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        refusal = await _acharge(door, scope, request)
        if refusal is not None:
            return refusal
        return responses.stamped(request, await view(*args, **kwargs))

    @functools.wraps(view)
    def run(*args: Any, **kwargs: Any) -> Any:
        request = _request(args)
        if _is_async(view, args):
            return arun(request, *args, **kwargs)
        refusal = _charge(door, scope, request)
        if refusal is not None:
            return refusal
        return responses.stamped(request, view(*args, **kwargs))

    if iscoroutinefunction(view):

        @functools.wraps(view)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            return await arun(_request(args), *args, **kwargs)

        return wrapper
    return run


def _charge(door: _Named | _InCode, scope: str, request: HttpRequest) -> HttpResponse | None:
    """A refusal, or None: the view may run."""
    if not conf().enabled:
        return None
    try:
        wanted = _covering(door.wanted(refresh.keeper.current(), scope), request)
        verdict = limiter.check(request, wanted)
    except Exception as error:
        return responses.broken(request, error)
    return None if verdict.allowed else responses.refuse(request, verdict)


async def _acharge(door: _Named | _InCode, scope: str, request: HttpRequest) -> HttpResponse | None:
    if not conf().enabled:
        return None
    try:
        wanted = _covering(door.wanted(await refresh.keeper.acurrent(), scope), request)
        verdict = await limiter.acheck(request, wanted)
    except Exception as error:
        return responses.broken(request, error)
    return None if verdict.allowed else responses.refuse(request, verdict)


def _covering(
    wanted: list[tuple[CompiledPolicy, int]], request: HttpRequest
) -> list[tuple[CompiledPolicy, int]]:
    return [each for each in wanted if each[0].covers(request.method or "")]


def _request(args: tuple[Any, ...]) -> HttpRequest:
    """The request among a view's arguments: the first of a function, the second of a method."""
    for each in args[:2]:
        request = getattr(each, "_request", each)
        if isinstance(request, HttpRequest):
            return request
    raise TypeError("@rate_limit found no request; decorate a view, or use limiter.take.")


def _is_async(view: Any, args: tuple[Any, ...]) -> bool:
    """Whether a sync function answers with a coroutine: dispatch of a class of async views."""
    owner = getattr(_bound(view), "__self__", None) or (args[0] if args else None)
    return bool(getattr(type(owner), "view_is_async", False))


def _scope(view: Any) -> str:
    """What a view is called; of a bound method (`method_decorator`), the class that it runs for."""
    owner = getattr(_bound(view), "__self__", None)
    if owner is None:
        return f"{view.__module__}.{view.__qualname__}"
    return f"{type(owner).__module__}.{type(owner).__qualname__}.{view.__name__}"


def _bound(view: Any) -> Any:
    """`method_decorator` hands a partial of the bound method."""
    return getattr(view, "func", view)
