"""The settings, and the server before the site."""

from collections.abc import Callable, Iterable, Iterator

from django.core.checks import CheckMessage
from django.core.checks.messages import ERROR, WARNING
from django.core.checks.registry import registry
from django.http import HttpRequest

from ratelimit_app import sources, stores
from ratelimit_app.addresses import client_address, forwarded, parse, peer_of
from ratelimit_app.conf import conf, has_own_secret
from ratelimit_app.stores.memory import MemoryStore

from .findings import Finding, Level, guarded

_TAG = "ratelimit_app"


def of_secret() -> Iterator[Finding]:
    """By which secret identities are hashed."""
    conf()
    found = "SECRET" if has_own_secret() else "what follows from SECRET_KEY"
    yield Finding(
        "secret", "ok", f"identities are hashed with {found}; a new one makes buckets fresh"
    )


def of_request(request: HttpRequest) -> Iterator[Finding]:
    """What the server says of the peer, against TRUSTED_PROXIES; and how many processes it has."""
    if request.META.get("wsgi.multiprocess") and isinstance(stores.current(), MemoryStore):
        yield Finding(
            "processes",
            "error",
            "this server has several, and each counts by itself",
            "Name a cache with Redis in RATELIMIT['CACHE'].",
        )
    yield _address(request)


def _address(request: HttpRequest) -> Finding:
    """As `whoami` tells it hop by hop, whose page the reader may turn to."""
    subject, client = "client address", client_address(request)
    peer, trusted = parse(peer_of(request)), conf().trusted_proxies
    names = bool(request.META.get("HTTP_X_FORWARDED_FOR"))
    if peer is None and None not in trusted:
        return Finding(
            subject,
            "warning",
            "the server names no peer (a Unix socket?), so that all clients share one bucket",
            "Name 'unix' in RATELIMIT['TRUSTED_PROXIES'] if your proxy sets X-Forwarded-For.",
        )
    if names and peer in forwarded(request):
        return Finding(
            subject, "ok", f"{client}: the server has read X-Forwarded-For itself, as uvicorn does"
        )
    if peer in trusted and not names:
        return Finding(
            subject,
            "warning",
            f"{peer or 'the Unix socket'} is trusted, but sends no X-Forwarded-For: all behind it "
            "count as one",
            "Let the proxy send the header.",
        )
    if names and peer not in trusted and not getattr(peer, "is_global", False):
        return Finding(
            subject,
            "warning",
            f"{peer} sends X-Forwarded-For, but is no trusted proxy: all behind it count as one",
            "If it is your proxy, name its network in RATELIMIT['TRUSTED_PROXIES'].",
        )
    return Finding(subject, "ok", f"{client}; is it yours? See Who am I?")


def of_checks() -> Iterator[Finding]:
    """The system checks of this app, those for deployment and for the table too."""
    databases = [sources.alias()]
    for check in registry.get_checks(include_deployment_checks=True):
        if _TAG in check.tags:
            yield from guarded(getattr(check, "__name__", "check"), _of_check, check, databases)


def _of_check(
    check: Callable[..., Iterable[CheckMessage]], databases: list[str]
) -> Iterator[Finding]:
    for message in check(app_configs=None, databases=databases):
        if not message.is_silenced():
            yield _finding(message)


def _finding(message: CheckMessage) -> Finding:
    level: Level = (
        "error" if message.level >= ERROR else "warning" if message.level >= WARNING else "ok"
    )
    subject = str(message.id or _TAG).removeprefix("ratelimit_app.")
    return Finding(subject, level, message.msg, message.hint or "")
