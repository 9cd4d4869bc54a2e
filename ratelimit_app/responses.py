"""From a verdict to HTTP: the headers on every response, and the refusal."""

import logging
import math
from collections.abc import Sequence
from typing import TypeVar

from asgiref.sync import sync_to_async
from django.core.exceptions import SynchronousOnlyOperation
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase, ResponseHeaders

from .bodies import body
from .conf import conf
from .sparingly import Sparingly
from .verdict import Entry, Verdict

R = TypeVar("R")

_failed = Sparingly(logging.getLogger("ratelimit_app"))

_OURS = frozenset(
    {
        "RateLimit-Policy",
        "RateLimit",
        "X-RateLimit-Limit",
        "X-RateLimit-Remaining",
        "X-RateLimit-Reset",
    }
)
#: What a fault of our own means where `ON_ERROR` is closed.
FAULT = Verdict(503, ())


def stamped(request: HttpRequest, response: R) -> R:
    """The response with the headers of the verdict on the request, if there is one.

    What is no response (some frameworks make theirs of what a view returns) is left alone.
    """
    verdict: Verdict | None = getattr(request, "rate_limit", None)
    if verdict is not None and isinstance(response, HttpResponseBase):
        _stamp(response, verdict)
    return response


def headers(verdict: Verdict) -> dict[str, str]:
    """The verdict's headers, as `HEADERS` says; draft-ietf-httpapi-ratelimit-headers-11."""
    shown = [
        entry
        for entry in verdict.entries
        if entry.policy.mode == "enforce" and entry.decision.remaining is not None
    ]
    style = conf().headers
    found: dict[str, str] = {}
    if not shown:
        return found
    if style in ("draft", "both"):
        found["RateLimit-Policy"] = ", ".join([entry.policy.item for entry in shown])
        found["RateLimit"] = ", ".join([_item(entry) for entry in shown])
    if style in ("x", "both"):
        found.update(_older(shown))
    return found


def refusal_headers(verdict: Verdict) -> dict[str, str]:
    """What a refusal says besides: when to come back, and that nobody may keep the answer."""
    wait = verdict.retry_after
    found = {"Cache-Control": "no-store"}
    if wait is not None:
        found["Retry-After"] = str(max(1, math.ceil(wait)))
    return found


def refuse(request: HttpRequest, verdict: Verdict) -> HttpResponse:
    """The response instead of the view's: 429, or 503 where the store failed and policies say so.

    JSON (RFC 9457) unless the client prefers HTML. It says nothing of who was counted.
    """
    return _refusal(body(request, verdict), verdict)


async def arefuse(request: HttpRequest, verdict: Verdict) -> HttpResponse:
    """`refuse` on the event loop; only a page that asks the database is rendered in a thread."""
    try:
        return _refusal(body(request, verdict, passing=(SynchronousOnlyOperation,)), verdict)
    except SynchronousOnlyOperation:
        return await sync_to_async(refuse)(request, verdict)


def broken(request: HttpRequest, error: Exception) -> HttpResponse | None:
    """What a fault of our own means for a request: `RATELIMIT["ON_ERROR"]`, and never a 500."""
    _failed.error("Rate limiting failed for %r.", error, request.path)
    return refuse(request, FAULT) if conf().on_error == "closed" else None


async def abroken(request: HttpRequest, error: Exception) -> HttpResponse | None:
    """`broken`, on the event loop."""
    _failed.error("Rate limiting failed for %r.", error, request.path)
    return await arefuse(request, FAULT) if conf().on_error == "closed" else None


def _refusal(response: HttpResponse, verdict: Verdict) -> HttpResponse:
    for name, value in refusal_headers(verdict).items():
        response[name] = value
    # Django would log each refusal as a warning: under attack, one line a request.
    response._has_been_logged = True  # type: ignore[attr-defined]
    _stamp(response, verdict)
    return response


class _Unstored(ResponseHeaders):
    """Headers that a cache keeps without ours: the numbers are those of one client and one moment.

    Django's caches pickle the response; the client gets the headers whole.
    """

    #: Whose headers are here: two doors, or a refusal and the middleware, write them once.
    verdict: Verdict | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return ResponseHeaders, ({name: self[name] for name in self if name not in _OURS},)


def _stamp(response: HttpResponseBase, verdict: Verdict) -> None:
    kept = response.headers
    if isinstance(kept, _Unstored) and kept.verdict is verdict:
        return
    ours = headers(verdict)
    if ours:
        kept.__class__ = _Unstored
        kept.verdict = verdict  # type: ignore[attr-defined]
        for name, value in ours.items():
            kept[name] = value


def _item(entry: Entry) -> str:
    seconds = _seconds(entry)
    wait = f";t={seconds}" if seconds else ""
    return f"{entry.policy.name};r={entry.decision.remaining}{wait}"


def _seconds(entry: Entry) -> int:
    """Seconds until more is allowed when refused, else until nothing is spent."""
    decision = entry.decision
    wait = decision.reset_after if decision.allowed else decision.retry_after
    return math.ceil(wait or 0)


def _older(shown: Sequence[Entry]) -> dict[str, str]:
    """The older headers have room for one policy: the one nearest to exhaustion."""
    tightest = min(shown, key=_share_left)
    decision = tightest.decision
    return {
        "X-RateLimit-Limit": str(decision.limit),
        "X-RateLimit-Remaining": str(decision.remaining),
        "X-RateLimit-Reset": str(_seconds(tightest)),
    }


def _share_left(entry: Entry) -> tuple[bool, float, float]:
    """The refusing one first, the longest wait first of these; then by the share that is left."""
    decision = entry.decision
    wait = math.inf if decision.retry_after is None else decision.retry_after
    share = (decision.remaining or 0) / decision.limit if decision.limit else 0
    return decision.allowed, -wait, share
