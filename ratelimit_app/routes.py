"""The views of the site, as its URLconf has them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import LocalePrefixPattern, ResolverMatch
from django.utils.translation import override

from .shapes import Shape, shape


@dataclass(frozen=True, slots=True)
class Route:
    """One way to a view. `path` is for people; `name` is what a policy may call it by."""

    path: str
    name: str
    view: Any
    #: The paths it has: one for each language where they differ.
    shapes: tuple[Shape, ...]


def routes() -> Iterator[Route]:
    """Every route to a view, in the order in which Django looks; imports the URLconf."""
    if getattr(settings, "ROOT_URLCONF", None):
        yield from _below(get_resolver(), [], [])


def _below(resolver: URLResolver, above: list[Any], namespaces: list[str]) -> Iterator[Route]:
    patterns = [*above, resolver.pattern]
    names = [*namespaces, *([resolver.namespace] if resolver.namespace else [])]
    for each in resolver.url_patterns:
        if isinstance(each, URLResolver):
            yield from _below(each, patterns, names)
        else:
            yield _route(each, [*patterns, each.pattern], names)


def _route(found: URLPattern, patterns: list[Any], namespaces: list[str]) -> Route:
    match = ResolverMatch(found.callback, (), {}, found.name, namespaces=[*namespaces])
    shapes: dict[Shape, None] = {}
    for language in _languages(patterns):
        with override(language):
            shapes[shape(patterns)] = None
    path = "".join(str(pattern).removeprefix("^").removesuffix("$") for pattern in patterns)
    return Route(path, match.view_name, found.callback, tuple(shapes))


def _languages(patterns: list[Any]) -> list[str]:
    """Those to read the patterns in: more than one where a pattern is translated."""
    for pattern in patterns:
        text = getattr(pattern, "_route", getattr(pattern, "_regex", ""))
        if isinstance(pattern, LocalePrefixPattern) or not isinstance(text, str):
            return [code for code, _ in settings.LANGUAGES]
    return [settings.LANGUAGE_CODE]
