"""Which paths a route of Django's can have, compared with the pattern of a policy."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.urls.resolvers import LocalePrefixPattern, RegexPattern, RoutePattern

#: A part of a route whose text can be anything, slashes too.
ANYTHING = None

_PARAMETER = re.compile(r"<(?:[^>:]+:)?([^>]+)>")

_IN_CLASS = r"(?:\\[dw.@+-]|[A-Za-z0-9]-[A-Za-z0-9]|[A-Za-z0-9_.:@+,~!])"
_CLASS = rf"\[-?{_IN_CLASS}*-?\]|\[\^[^\]\\]*/[^\]\\]*\]"
#: Regular expressions that are seen at a glance to take no slash.
_NO_SLASH = re.compile(
    rf"(?:(?:{_CLASS}|\\[dw.-]|[A-Za-z0-9_:,-])(?:[*+?]|\{{[\d,]+\}})?|\||\((?:\?:)?|\))*"
)
#: What a regular expression is read by: a plain character, an escaped one, a group without groups.
_NEXT = re.compile(
    r"(?:\\([^A-Za-z0-9])|([^\\.^$*+?{}\[\]()|])"
    r"|\((?:\?P<\w+>|\?:)?((?!\?)(?:\\.|\[[^\]]*\]|[^()\\\[\]])*)\))(?![*+?{])"
)


@dataclass(frozen=True, slots=True)
class Shape:
    """The segments of a path, each a text or what it must match; `open`: anything may follow.

    What follows is one more segment at least, which may be empty.
    """

    segments: tuple[str | re.Pattern[str], ...]
    open: bool

    def is_within(self, pattern: str) -> bool:
        """Whether every path of this shape fits the pattern of a policy, which begins with `/`."""
        wanted = pattern[1:].split("/")
        for at, want in enumerate(wanted):
            if want == "**":
                return at < len(self.segments) or self.open
            if at >= len(self.segments) or not _always(want, self.segments[at]):
                return False
        return len(wanted) == len(self.segments) and not self.open

    def meets(self, pattern: str) -> bool:
        """Whether a path of this shape may fit the pattern; in doubt it may."""
        wanted = pattern[1:].split("/")
        for at, want in enumerate(wanted):
            if at >= len(self.segments):
                return self.open
            if want == "**":
                return True
            if not _perhaps(want, self.segments[at]):
                return False
        return len(wanted) == len(self.segments) and not self.open


def shape(patterns: Iterable[Any]) -> Shape:
    """The paths below these patterns, which are Django's, from the root to the view."""
    segments: list[str | re.Pattern[str]] = []
    segment: list[str | re.Pattern[str]] = []
    for part in _parts(list(patterns)):
        if part is ANYTHING:
            # What stands before it in the same segment is left out: in doubt it may fit.
            return Shape(tuple(segments[1:]), True)
        if isinstance(part, str):
            first, *others = part.split("/")
            segment.append(first)
            for other in others:
                segments.append(_joined(segment))
                segment = [other]
        else:
            segment.append(part)
    segments.append(_joined(segment))
    return Shape(tuple(segments[1:]), False)


def _always(want: str, has: str | re.Pattern[str]) -> bool:
    if isinstance(has, str):
        return want == has or (want == "*" and has != "")
    return want == "*" and not has.fullmatch("")


def _perhaps(want: str, has: str | re.Pattern[str]) -> bool:
    if isinstance(has, str):
        return _always(want, has)
    return want == "*" or has.fullmatch(want) is not None


def _joined(segment: list[str | re.Pattern[str]]) -> str | re.Pattern[str]:
    if all(isinstance(part, str) for part in segment):
        return "".join(map(str, segment))
    return re.compile(
        "".join(
            re.escape(part) if isinstance(part, str) else f"(?:{part.pattern})" for part in segment
        )
    )


def _parts(patterns: list[Any]) -> Iterator[str | re.Pattern[str] | None]:
    for pattern in patterns:
        if isinstance(pattern, RoutePattern):
            yield from _of_route(pattern)
        elif isinstance(pattern, RegexPattern):
            yield from _of_regex(str(pattern), ends=pattern is patterns[-1])
        elif isinstance(pattern, LocalePrefixPattern):
            yield pattern.language_prefix
        else:
            yield ANYTHING


def _of_route(pattern: RoutePattern) -> Iterator[str | re.Pattern[str] | None]:
    pieces = _PARAMETER.split(str(pattern))
    for at, piece in enumerate(pieces):
        yield _group(pattern.converters[piece].regex) if at % 2 else piece


def _of_regex(text: str, *, ends: bool) -> list[str | re.Pattern[str] | None]:
    if text in ("", "^"):
        return [ANYTHING] if ends else []
    if not text.startswith("^"):
        # Django searches, so that it may begin anywhere.
        return [ANYTHING]
    parts: list[str | re.Pattern[str] | None] = []
    is_closed = text.endswith(("$", r"\Z"))
    text = text[1:].removesuffix(r"\Z").removesuffix("$")
    while text:
        found = _NEXT.match(text)
        if found is None:
            # An alternative may stand for all that came before it.
            return [ANYTHING] if "|" in text else [*parts, ANYTHING]
        escaped, plain, group = found.groups()
        parts.append(escaped or plain or _group(group))
        text = text[found.end() :]
    return parts if is_closed or not ends else [*parts, ANYTHING]


def _group(regex: str) -> re.Pattern[str] | None:
    return re.compile(regex) if _NO_SLASH.fullmatch(regex) else ANYTHING
