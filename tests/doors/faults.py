"""What may break: a store that is down, and key functions of a site."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from django.http import HttpRequest

from ratelimit_app import stores
from ratelimit_app.stores import Take, Unavailable
from ratelimit_app.stores.memory import MemoryStore


class _Down(MemoryStore):
    name = "down"

    def take(
        self, takes: Sequence[Take], *, spend: bool = True, until: float | None = None
    ) -> NoReturn:
        raise Unavailable("it is down")

    async def atake(
        self, takes: Sequence[Take], *, spend: bool = True, until: float | None = None
    ) -> NoReturn:
        raise Unavailable("it is down")


@contextmanager
def store_down() -> Iterator[None]:
    with stores.pinned(_Down()):
        yield


def raises(request: HttpRequest) -> str:
    raise RuntimeError("a key function of the site is broken")


def exits(request: HttpRequest) -> str:
    raise KeyError("tenant")


def nobody(request: HttpRequest) -> None:
    """Says that the policy does not apply."""


def query(request: HttpRequest) -> str:
    return request.GET.get("tenant", "")


async def is_async(request: HttpRequest) -> str:
    return "a coroutine is no identity"


def whole(value: Any) -> str:
    return f"{__name__}.{value.__name__}"
