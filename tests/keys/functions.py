"""Key functions of a site."""

import uuid

from django.http import HttpRequest


def tenant(request: HttpRequest) -> str | None:
    return request.headers.get("X-Tenant")


def number(request: HttpRequest) -> int:
    return 42


def identifier(request: HttpRequest) -> uuid.UUID:
    return uuid.UUID(int=42)


async def asynchronous(request: HttpRequest) -> str:
    return "a"


not_callable = "text"
