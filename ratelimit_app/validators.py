"""What a policy may say, as pure functions: for the model, and for policies in settings or code.

Every complaint names the value and the fix.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.module_loading import import_string

from ratelimit_app.algorithms import ALGORITHMS
from ratelimit_app.choices import MODES, ON_ERROR
from ratelimit_app.keys import KEYS
from ratelimit_app.numbers import lease_problem, number_problems

#: The methods a policy may be narrowed to.
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
#: Ways to count that need a name: of a header, or of a function.
NAMED_KEYS = tuple(kind for kind, key in KEYS.items() if key.named)

_SLUG = re.compile(r"[a-z0-9_-]{1,63}")
_HEADER = re.compile(r"[A-Za-z0-9-]+")
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")
_VIEW = re.compile(r"[^:*/]+(:[^:*/]+)*(:\*)?")
#: Marks of regular expressions, of Django's routes, and of what never reaches a path.
_FOREIGN = re.compile(r"[\^$()\[\]{}|\\+?<>#%\x00-\x1f\x7f]|\.\*")


def validate_slug(slug: str) -> None:
    """Upper case passes: it is folded, so that a slug is unique whatever its case."""
    if not _SLUG.fullmatch(slug.lower()):
        raise ValidationError(
            f"{slug!r} is no slug: use 1 to 63 letters a to z, digits, hyphens and underscores, "
            "such as 'login' or 'api-search'."
        )


def validate_path(path: str) -> None:
    """A pattern of segments that begins with a slash, or the name of a view; empty is neither."""
    foreign = _FOREIGN.search(path)
    if foreign:
        raise ValidationError(
            f"{path!r} holds {foreign[0]!r}, which stands for nothing here: a path is no regular "
            "expression, route or query. Write the path as a visitor sees it, with * for one "
            "whole segment and ** at the end for the rest, such as '/api/*/orders/**'."
        )
    if path.startswith("/"):
        *segments, last = path.split("/")
        wrong = [each for each in segments if "*" in each and each != "*"]
        if "*" in last and last not in ("*", "**"):
            wrong.append(last)
        if wrong:
            raise ValidationError(
                f"{path!r} has the segment {wrong[0]!r}: * must be a whole segment, and ** the "
                "last one, such as '/api/*/orders/**'."
            )
    elif path and not _VIEW.fullmatch(path):
        raise ValidationError(
            f"{path!r} is neither a path nor a view: begin a path with a slash, such as '/api/**', "
            "or name a view as in reverse(): 'name', 'app:name', or 'app:*' for every view of a "
            "namespace."
        )


def validate_methods(methods: object) -> None:
    """A list of HTTP methods; empty is all of them but OPTIONS."""
    if not isinstance(methods, list):
        raise ValidationError(f"{methods!r} is no list of methods: write [] or ['POST', 'PUT'].")
    for method in methods:
        if method not in METHODS:
            raise ValidationError(f"{method!r} is no method: use any of {', '.join(METHODS)}.")


def key_problem(key: str, key_name: str, names: Collection[str] = ()) -> str | None:
    """Why nobody can be counted by this key; `names` are those of `RATELIMIT["KEYS"]`."""
    if key not in NAMED_KEYS:
        if key_name:
            return f"{key_name!r} is not used with the key {key}: empty it, or count by a header."
        return None
    if key == "header":
        if _HEADER.fullmatch(key_name):
            return None
        return (
            f"{key_name!r} is no header: write its name as clients send it, with letters, digits "
            "and hyphens, such as 'X-API-Key'."
        )
    if key_name in names:
        return None
    if not _DOTTED.fullmatch(key_name):
        known = f", or one of {', '.join(sorted(names))}" if names else ""
        return (
            f"{key_name!r} is no function: write a dotted path such as 'shop.keys.tenant'{known}."
        )
    return function_problem(key_name)


def function_problem(path: str) -> str | None:
    """Why the function at a dotted path cannot be called; imports its module."""
    try:
        found = import_string(path)
    except Exception as error:  # Whatever the module raises at import is an answer.
        return (
            f"{path!r} cannot be imported ({error}): correct the dotted path, or install the "
            "package that it is in."
        )
    if not callable(found):
        return f"{path!r} is {found!r}: name a function of the request."
    return None


def field_problems(fields: Mapping[str, Any]) -> Iterator[str]:
    """Why a policy from settings, code or a row that went round the form cannot be.

    `fields` has all of them. The numbers are looked at only once their types are right.
    """
    known: dict[str, Collection[str]] = {
        "mode": MODES,
        "algorithm": ALGORITHMS,
        "key": KEYS,
        "on_error": ON_ERROR,
    }
    texts = (*known, "slug", "key_name", "path")
    odd = [name for name in texts if not isinstance(fields[name], str)]
    for name in odd:
        yield f"{name} {fields[name]!r} must be a text."
    for name, choices in known.items():
        if name not in odd and fields[name] not in choices:
            yield f"{name} {fields[name]!r} is not known: use one of {', '.join(choices)}."
    if not isinstance(fields["ask_always"], bool):
        yield f"ask_always {fields['ask_always']!r} must be True or False."
    methods = fields["methods"]
    listed = isinstance(methods, (list, tuple, set, frozenset))
    if not listed or not {str(each).upper() for each in methods} <= set(METHODS):
        yield f"methods {methods!r} must be a list of {', '.join(METHODS)}."
    whole = [name for name in ("limit", "burst", "cost", "lease") if fields[name] is not None]
    wrong = [name for name in whole if type(fields[name]) is not int]
    for name in wrong:
        yield f"{name} {fields[name]!r} must be a whole number."
    try:
        # By its digits as written: 0.29 is not the double next to it.
        period = Decimal(str(fields["period"]))
        exact = period.is_finite() and period == round(period, 3)
    except ArithmeticError:
        exact = False
    if not exact:
        yield f"period {fields['period']!r} must be a number of seconds, with 3 decimal places."
    elif not wrong:
        # A cost that can never fit is refused where it is written; a row that has one refuses.
        cost = min(1, fields["cost"])
        for _, problem in number_problems(
            fields["algorithm"], fields["limit"], period, fields["burst"], cost
        ):
            yield problem
        if found := lease_problem(fields["algorithm"], fields["lease"]):
            yield found
