"""Every response, a refusal too, says which process gave it."""

import os
from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest
from django.utils.decorators import sync_and_async_middleware


@sync_and_async_middleware
def pid_middleware(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    if iscoroutinefunction(get_response):

        async def amiddleware(request: HttpRequest) -> Any:
            response = await get_response(request)
            response["X-Pid"] = str(os.getpid())
            return response

        return amiddleware

    def middleware(request: HttpRequest) -> Any:
        response = get_response(request)
        response["X-Pid"] = str(os.getpid())
        return response

    return middleware
