"""What address and what key the site sees in a request, and why: for whoever sets up a proxy."""

from django.http import HttpRequest

from .addresses import block, client_address, forwarded, hops, parse, peer_of
from .conf import conf
from .keys import user_of


def seen(request: HttpRequest) -> list[tuple[str, str]]:
    """Pairs of a name and what it is, in the order of the reasoning."""
    trusted, client = conf().trusted_proxies, client_address(request)
    user = user_of(request)
    session = getattr(getattr(request, "session", None), "session_key", None)
    chain = [f"{each} (trusted proxy)" if each in trusted else str(each) for each in hops(request)]
    return [
        ("peer (REMOTE_ADDR)", _peer(request)),
        ("X-Forwarded-For", str(request.META.get("HTTP_X_FORWARDED_FOR") or "not sent")),
        ("TRUSTED_PROXIES", str(trusted) or "none: X-Forwarded-For is not read"),
        ("hops, from the peer", " ← ".join(chain) or "none that has an address"),
        ("client address", client or "none: all such clients share one bucket"),
        ("counted by ip as", block(client) or "one bucket for all such clients"),
        ("counted by user as", str(user.pk) if user.is_authenticated else "nobody: not logged in"),
        ("counted by session as", "the session" if session else "the address: there is no session"),
    ]


def _peer(request: HttpRequest) -> str:
    peer = peer_of(request)
    if not peer:
        trusted = ", which is trusted" if None in conf().trusted_proxies else ""
        return f"none: the server listens on a Unix socket{trusted}"
    address = parse(peer)
    if address is None or address not in forwarded(request):
        return peer
    return (
        f"{peer}, which X-Forwarded-For names too: the server may have put it there, as uvicorn "
        "does for peers in --forwarded-allow-ips"
    )
