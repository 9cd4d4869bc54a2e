"""The body of a refusal: a problem in JSON (RFC 9457), or a page for who prefers HTML.

It says nothing of who was counted.
"""

import json
import logging
import math
from functools import lru_cache

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from .sparingly import Sparingly
from .verdict import Verdict

_failed = Sparingly(logging.getLogger("ratelimit_app"))

_TYPES = "https://iana.org/assignments/http-problem-types#"
_JSON = ("application/problem+json", "application/json")
_TITLES = {429: "Too many requests", 503: "Temporarily not available"}
#: Up to this many characters of an Accept header its meaning is remembered.
_REMEMBERED = 256


def body(
    request: HttpRequest, verdict: Verdict, passing: tuple[type[Exception], ...] = ()
) -> HttpResponse:
    """Problem or page; errors of the page's template are logged, save those to be passed on."""
    if not _wants_html(request):
        return _problem(verdict)
    try:
        return _page(request, verdict)
    except passing:
        raise
    except Exception as error:
        _failed.error("The template 429.html failed; JSON is sent instead.", error)
        return _problem(verdict)


def _page(request: HttpRequest, verdict: Verdict) -> HttpResponse:
    wait = verdict.retry_after
    values = {
        "title": _TITLES[verdict.status],
        "retry_after": None if wait is None else max(1, math.ceil(wait)),
    }
    page = render_to_string("429.html", values, request=request)
    return HttpResponse(page, status=verdict.status)


def _problem(verdict: Verdict) -> HttpResponse:
    status = verdict.status
    violated = [entry.policy.slug for entry in verdict.refusals] if status == 429 else []
    return HttpResponse(_told(status, *violated), status=status, content_type=_JSON[0])


@lru_cache(maxsize=256)
def _told(status: int, *violated: str) -> bytes:
    """The problem (RFC 9457); to whoever is refused by the same policies it is the same."""
    kind = "quota-exceeded" if status == 429 else "temporary-reduced-capacity"
    problem: dict[str, object] = {
        "type": _TYPES + kind,
        "title": _TITLES[status],
        "status": status,
    }
    if status == 429:
        problem["violated-policies"] = violated
    return json.dumps(problem).encode()


def _wants_html(request: HttpRequest) -> bool:
    accept = request.META.get("HTTP_ACCEPT", "*/*")
    if len(accept) > _REMEMBERED:
        return _prefers_html.__wrapped__(accept)
    return _prefers_html(accept)


@lru_cache(maxsize=256)
def _prefers_html(accept: str) -> bool:
    """What a client says is parsed once: Django takes longer for it than we for all the rest."""
    request = HttpRequest()
    request.META["HTTP_ACCEPT"] = accept
    try:
        return request.get_preferred_type([*_JSON, "text/html"]) == "text/html"
    except (LookupError, ValueError):
        # The client names an encoding that nobody knows, and Django tries it.
        return False
