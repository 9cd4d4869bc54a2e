"""The peers by name. One that cannot be had is listed with the reason, and breaks nothing."""

from collections.abc import Callable
from functools import partial
from importlib import import_module, metadata
from typing import TypeVar

from .base import Door, Peer, Place, Taker, Told, Where

#: Distribution: module of this package.
PEERS = {
    "limits": "limits_",
    "throttled-py": "throttled_",
    "pyrate-limiter": "pyrate",
    "django-ratelimit": "ratelimit",
    "django-smart-ratelimit": "smart",
    "django-fast-ratelimit": "fast",
    "django-ratelatch": "ratelatch",
    "djangorestframework": "drf",
    "drf-ratelimit-plus": "drf_plus",
}

T = TypeVar("T")

#: Why a peer takes no part, by its name.
absent: dict[str, str] = {}


def available() -> dict[str, Peer]:
    """Those that are installed and can be imported."""
    found = {}
    for name, module in PEERS.items():
        peer = attempt(name, partial(_load, module))
        if peer is not None:
            found[name] = peer
    return found


def _load(module: str) -> Peer:
    peer: Peer = import_module(f".{module}", __name__).PEER
    return peer


def attempt(name: str, work: Callable[[], T]) -> T | None:
    """What `work` returns; if it fails, None, and the reason stands in `absent`."""
    try:
        return work()
    except Exception as error:
        absent[name] = f"{type(error).__name__}: {error}"
        return None


def version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


__all__ = [
    "PEERS",
    "Door",
    "Peer",
    "Place",
    "Taker",
    "Told",
    "Where",
    "absent",
    "attempt",
    "available",
    "version",
]
