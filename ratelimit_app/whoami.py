"""What address and what key the site sees in a request, and why: for whoever sets up a proxy."""

from django.http import HttpRequest

from .addresses import Address, block, client_address, hops, within
from .conf import Network, conf
from .keys import user_of


def seen(request: HttpRequest) -> list[tuple[str, str]]:
    """Pairs of a name and what it is, in the order of the reasoning."""
    trusted = conf().trusted_proxies
    peer = str(request.META.get("REMOTE_ADDR") or "")
    user = user_of(request)
    session = getattr(getattr(request, "session", None), "session_key", None)
    return [
        ("peer (REMOTE_ADDR)", peer or "none: the server listens on a Unix socket"),
        ("X-Forwarded-For", str(request.META.get("HTTP_X_FORWARDED_FOR") or "not sent")),
        ("TRUSTED_PROXIES", ", ".join(map(str, trusted)) or "none: X-Forwarded-For is not read"),
        ("hops, from the peer", " ← ".join(_hop(address, trusted) for address in hops(request))),
        ("client address", client_address(request) or "none: all such clients share one bucket"),
        ("counted by ip as", block(client_address(request)) or "one bucket for all such clients"),
        ("counted by user as", str(user.pk) if user.is_authenticated else "nobody: not logged in"),
        ("counted by session as", "the session" if session else "the address: there is no session"),
    ]


def _hop(address: Address, trusted: tuple[Network, ...]) -> str:
    return f"{address} (trusted proxy)" if within(address, trusted) else str(address)
