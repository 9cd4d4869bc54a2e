"""Which views are covered by which policies: by path, by name, by a decorator or by a throttle.

Nothing is asked but the URLconf and a snapshot. A policy that a view charges by `limiter.take`
inside is not seen.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from .charging import Named, marks
from .keys import KEYS
from .policies import CompiledPolicy, Snapshot
from .routes import Route, routes
from .scopes import full_name

#: Whatever a view may be asked for; HEAD goes with GET, and OPTIONS needs no limit.
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
_MIDDLEWARE = "ratelimit_app.middleware"
_THROTTLE = "ratelimit_app.drf"


@dataclass(frozen=True, slots=True)
class Cover:
    """A policy that stands before a view, for these methods; `gap` says what it leaves open."""

    policy: str
    methods: frozenset[str]
    gap: str = ""


@dataclass(frozen=True, slots=True)
class Covered:
    """A route and the policies before it."""

    route: Route
    #: The module and name of the view.
    view: str
    #: What the view may be asked for.
    methods: frozenset[str]
    covers: tuple[Cover, ...]

    @property
    def is_covered(self) -> bool:
        """Whether each request to it is counted by a policy that may refuse it."""
        return not self.methods - self._closed

    @property
    def gaps(self) -> list[str]:
        """For each policy what it leaves open, for people."""
        found = []
        for cover in self.covers:
            gap = cover.gap
            if not gap and self.methods - cover.methods:
                gap = f"only {', '.join(sorted(cover.methods))}"
            found.append(f"{cover.policy} ({gap})" if gap else cover.policy)
        return found

    @property
    def _closed(self) -> frozenset[str]:
        whole = [cover.methods for cover in self.covers if not cover.gap]
        return frozenset().union(*whole)


def coverage(snapshot: Snapshot) -> list[Covered]:
    """Every view of the URLconf, in its order, with the policies of this snapshot before it."""
    by_path = has_middleware()
    return [_covered(route, snapshot, by_path=by_path) for route in routes()]


def unmatched(snapshot: Snapshot, views: Iterable[Covered]) -> list[CompiledPolicy]:
    """The policies that are on and stand before no view, by slug."""
    used = {cover.policy for view in views for cover in view.covers}
    left = set(snapshot.by_slug) - used
    found = (snapshot.by_slug[slug] for slug in sorted(left))
    return [policy for policy in found if policy.mode != "off"]


def has_middleware() -> bool:
    """Whether policies by path and by view apply to every view."""
    return any(_is_ours(import_string(path), _MIDDLEWARE) for path in settings.MIDDLEWARE)


def throttle_slugs(view: Any) -> list[str]:
    """The slugs that a view of Django REST Framework names, if our throttle reads them."""
    if not _is_throttled(view):
        return []
    given, throttles = _given(view), _throttles(view)
    # With DRF's own scoped throttle beside ours, a scope is a rate of its settings.
    scoped = any(each.__name__ == "ScopedRateThrottle" for each in throttles)
    scope = None if scoped else given("throttle_scope")
    return [*(given("throttle_policies") or ()), *([scope] if scope else ())]


def _covered(route: Route, snapshot: Snapshot, *, by_path: bool) -> Covered:
    handlers = _handlers(route.view)
    methods = frozenset(handlers) or _METHODS
    covers = [
        *_by_place(route, snapshot, methods, by_path or _is_throttled(route.view)),
        *_by_name(route, snapshot, methods, handlers),
    ]
    return Covered(route, full_name(route.view), methods, tuple(covers))


def _by_place(
    route: Route, snapshot: Snapshot, methods: frozenset[str], is_asked: bool
) -> Iterator[Cover]:
    for policy in snapshot.by_slug.values():
        if not policy.path or policy.mode == "off" or not is_asked:
            continue
        if not policy.path.startswith("/"):
            if _is_called(route.name, policy.path):
                yield _cover(policy, methods)
        elif all(shape.is_within(policy.path) for shape in route.shapes):
            yield _cover(policy, methods)
        elif any(shape.meets(policy.path) for shape in route.shapes):
            yield _cover(policy, methods, "perhaps some of its paths")


def _is_called(name: str, pattern: str) -> bool:
    return name == pattern or (pattern.endswith(":*") and name.startswith(pattern[:-1]))


def _by_name(
    route: Route, snapshot: Snapshot, methods: frozenset[str], handlers: dict[str, Any]
) -> Iterator[Cover]:
    named = [(each, methods) for each in marks(route.view)]
    named += [(Named(slug), methods) for slug in throttle_slugs(route.view)]
    for method, handler in handlers.items():
        named += [(each, frozenset({method})) for each in marks(handler)]
    for each, inside in named:
        policy = snapshot.by_slug.get(each.slug)
        if each.in_code:
            yield Cover(each.slug, inside & each.methods if each.methods else inside)
        elif policy is not None and policy.mode != "off":
            yield _cover(policy, inside)


def _cover(policy: CompiledPolicy, methods: frozenset[str], gap: str = "") -> Cover:
    counted = frozenset(method for method in methods if policy.covers(method))
    if policy.mode == "shadow":
        gap = "in shadow"
    elif policy.key is KEYS["user"]:
        gap = gap or "only who is logged in"
    return Cover(policy.slug, counted, gap)


def _handlers(view: Any) -> dict[str, Any]:
    """What answers each method, of a view that a class makes; nothing of a function."""
    made_of = getattr(view, "cls", getattr(view, "view_class", None))
    if made_of is None:
        return {}
    actions = getattr(view, "actions", None) or {
        name: name for name in made_of.http_method_names if hasattr(made_of, name)
    }
    return {
        method.upper(): _of_function(getattr(made_of, name, None))
        for method, name in actions.items()
        if method.upper() in _METHODS
    }


def _of_function(handler: Any) -> Any:
    """The function that Django REST Framework's `@api_view` has put into a handler."""
    cells = getattr(handler, "__closure__", None) or ()
    names = getattr(getattr(handler, "__code__", None), "co_freevars", ())
    inside = dict(zip(names, cells, strict=True))
    return inside["func"].cell_contents if tuple(inside) == ("func",) else handler


def _given(view: Any) -> Any:
    """Reads what a view's class says, or what its URL says instead."""
    more = getattr(view, "initkwargs", None) or {}
    return lambda name: more.get(name, getattr(getattr(view, "cls", None), name, None))


def _throttles(view: Any) -> Iterable[type]:
    return _given(view)("throttle_classes") or ()


def _is_throttled(view: Any) -> bool:
    return any(_is_ours(each, _THROTTLE) for each in _throttles(view))


def _is_ours(found: Any, module: str) -> bool:
    return any(each.__module__ == module for each in getattr(found, "__mro__", ()))
