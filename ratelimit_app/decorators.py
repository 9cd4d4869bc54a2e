"""The door for one view: `@rate_limit("login")` on functions, methods, classes; sync and async."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest

from . import charging, responses
from .charging import Wanted
from .conf import SettingError, conf
from .policies import CompiledPolicy, Snapshot, compiled
from .rates import parse_rate
from .scopes import DOORS, bound_to, owner_in, request_in, scope
from .sources import DEFAULTS
from .validators import key_problem
from .verdict import checked_cost

V = TypeVar("V", bound=Callable[..., Any])
#: Says what the view is called, once somebody asks.
ScopeOf: TypeAlias = Callable[[], str]


@dataclass(frozen=True, slots=True)
class _ByRow:
    """A policy of the table, by its slug: it may be edited, and is looked up for each request."""

    slug: str
    cost: int | None

    def mark(self, view: Any) -> None:
        charging.mark(view, self.slug)

    def wanted(self, snapshot: Snapshot, method: str, _scope_of: ScopeOf) -> Wanted:
        cost = self.cost
        found = snapshot.named(self.slug, method)
        return [(policy, policy.cost if cost is None else cost) for policy in found]


@dataclass(frozen=True, slots=True)
class _InCode:
    """A policy written beside its view; compiled once for each name."""

    fields: dict[str, Any]
    cost: int
    made: dict[str, CompiledPolicy]

    def mark(self, view: Any) -> None:
        fields = self.fields
        name = fields["slug"] or f"{fields['limit']} in {fields['period']:g} s"
        charging.mark(view, name, fields["methods"], in_code=True)

    def wanted(self, _snapshot: Snapshot, method: str, scope_of: ScopeOf) -> Wanted:
        name = self.fields["slug"] or scope_of()
        if name not in self.made:
            self.made[name] = compiled({**self.fields, "slug": name}, origin="code")
        return [(self.made[name], self.cost)] if self.made[name].covers(method) else []


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
    ask_always: bool = False,
    lease: int | None = None,
    name: str = "",
) -> Callable[[V], V]:
    """Charge a policy before the view runs; a refusal is the response instead of the view's.

    `policy` is a slug of the table (`"login"`), or a rate (`"5/m"`); or give `limit` and `period`
    (seconds). A policy in code is counted under `name`, by default the view's module and name, so
    that two views never share a bucket by accident. `cost` is a whole number of units, 0 or more.
    Raises `ValueError` where the policy cannot be.
    """
    if callable(policy):
        raise TypeError("Write what is charged: @rate_limit('login'), or @rate_limit('5/m').")
    if policy is not None and (limit, period) != (None, None):
        raise ValueError(f"{policy!r} says how much already: leave out limit and period.")
    fields: dict[str, Any] = {
        "burst": burst,
        "key": key,
        "key_name": key_name,
        "algorithm": algorithm,
        "methods": methods or (),
        "on_error": on_error,
        "ask_always": ask_always,
        "lease": lease,
    }
    if policy is None or "/" in policy:
        if policy is not None:
            limit, period = parse_rate(policy)
        fields |= {"slug": name, "limit": limit, "period": period}
        return partial(_decorate, _in_code(fields, 1 if cost is None else checked_cost(cost)))
    if name or any(value != DEFAULTS[field] for field, value in fields.items()):
        raise ValueError(f"{policy!r} is a policy of the table; edit the rest of it there.")
    door = _ByRow(policy, None if cost is None else checked_cost(cost))
    charging.name(policy, door.cost)
    return partial(_decorate, door)


def _in_code(fields: dict[str, Any], cost: int) -> _InCode:
    if fields["limit"] is None or fields["period"] is None:
        raise ValueError("Give a slug, a rate such as '5/m', or limit=… and period=… (seconds).")
    # A cost of 0 only looks; any other must fit.
    fields = {**DEFAULTS, **fields, "cost": max(1, cost)}
    _validate(fields)
    return _InCode(fields, cost, {})


def _validate(fields: dict[str, Any]) -> None:
    limit = compiled({**fields, "slug": "code"}, origin="code").quota.limit
    try:
        names = conf().keys
    except SettingError:
        # A check says so, and the server at its start; not the import of some view.
        names = {fields["key_name"]: ""}
    if problem := key_problem(fields["key"], fields["key_name"], names):
        raise ValueError(problem)
    if fields["cost"] > limit.burst > 0:
        raise ValueError(f"cost {fields['cost']} can never fit: use at most {limit.burst}.")


def _decorate(door: _ByRow | _InCode, view: Any) -> Any:
    if isinstance(view, type):
        # A class-based view: every method goes through dispatch.
        view.dispatch = _wrapped(door, view.dispatch, whole=True)  # type: ignore[attr-defined]
        return view
    return _wrapped(door, view)


def _wrapped(door: _ByRow | _InCode, view: Any, *, whole: bool = False) -> Any:
    bound = bound_to(view)

    def scope_of(args: tuple[Any, ...]) -> ScopeOf:
        return lambda: scope(view, owner_in(args) if bound is None else bound, whole=whole)

    def find(request: HttpRequest, args: tuple[Any, ...]) -> Callable[[Snapshot], Wanted]:
        return lambda snapshot: door.wanted(snapshot, request.method or "", scope_of(args))

    async def arun(*args: Any, **kwargs: Any) -> Any:
        request = request_in(args)
        refusal = await charging.acharge(request, find(request, args))
        if refusal is not None:
            return refusal
        return responses.stamped(request, await view(*args, **kwargs))

    @functools.wraps(view)
    def run(*args: Any, **kwargs: Any) -> Any:
        owner = owner_in(args) if bound is None else bound
        # Of a class of async views dispatch is a sync function, and answers with a coroutine.
        if getattr(type(owner), "view_is_async", False):
            return arun(*args, **kwargs)
        request = request_in(args)
        refusal = charging.charge(request, find(request, args))
        if refusal is not None:
            return refusal
        return responses.stamped(request, view(*args, **kwargs))

    @functools.wraps(view)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        return await arun(*args, **kwargs)

    found = wrapper if iscoroutinefunction(view) else run
    door.mark(found)
    if isinstance(door, _InCode) and not door.fields["slug"]:
        setattr(found, DOORS, getattr(view, DOORS, 0) + 1)
    return found
