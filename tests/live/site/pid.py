"""Every response, a refusal too, says which process gave it, who decided, and of its breaker."""

import os
from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest
from django.utils.decorators import sync_and_async_middleware

from ratelimit_app import stores
from ratelimit_app.verdict import Verdict


def _mark(request: HttpRequest, response: Any) -> Any:
    response["X-Pid"] = str(os.getpid())
    verdict: Verdict | None = getattr(request, "rate_limit", None)
    if verdict is not None:
        response["X-Source"] = ",".join(entry.decision.source for entry in verdict.entries)
    breaker = getattr(stores.innermost(), "breaker", None)
    response["X-Breaker"] = "open" if breaker and breaker.is_open else "closed"
    return response


@sync_and_async_middleware
def pid_middleware(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    if iscoroutinefunction(get_response):

        async def amiddleware(request: HttpRequest) -> Any:
            return _mark(request, await get_response(request))

        return amiddleware

    def middleware(request: HttpRequest) -> Any:
        return _mark(request, get_response(request))

    return middleware
