"""D18: requests as servers hand them on, WSGI and ASGI, with headers that nobody should send."""

import io
from typing import Any, NamedTuple

import pytest
from django.core.handlers.asgi import ASGIRequest
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ratelimit_app import addresses
from ratelimit_app.addresses import block, client_address, parse
from ratelimit_app.keys import by_ip
from ratelimit_app.whoami import seen

from .clients import settings_of

TRUSTED = ("10.0.0.0/8", "2001:db8::/32", "unix")
PROXIES = settings_of(TRUSTED).trusted_proxies


def by_wsgi(peer: str | None, headers: list[tuple[str, str]]) -> HttpRequest:
    """As gunicorn does: lines of one name are joined, names with underscores are dropped."""
    environ: dict[str, Any] = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": "/",
        "wsgi.input": io.BytesIO(),
    }
    # gunicorn says '' of a Unix socket.
    environ["REMOTE_ADDR"] = peer or ""
    for name, value in headers:
        if "_" not in name:
            key = "HTTP_" + name.upper().replace("-", "_")
            environ[key] = f"{environ[key]},{value}" if key in environ else value
    return WSGIRequest(environ)


def by_asgi(peer: str | None, headers: list[tuple[str, str]]) -> HttpRequest:
    """As uvicorn does: it hands on what it got, and no client of a Unix socket."""
    lines = [
        (name.lower().encode("latin-1"), value.encode("latin-1", "replace"))
        for name, value in headers
    ]
    scope = {"type": "http", "method": "GET", "path": "/", "headers": lines, "query_string": b""}
    return ASGIRequest({**scope, "client": (peer, 4711) if peer else None}, io.BytesIO())


class Sent(NamedTuple):
    """What the client wrote, and what the proxies appended, in header lines of their own."""

    written: list[tuple[str, str]]
    appended: list[str]


names = st.sampled_from(
    [
        *("X-Forwarded-For", "x-forwarded-for", "X_Forwarded_For", "X-Forwarded-Host"),
        *("Forwarded", "X-Real-Ip", "Remote-Addr", "REMOTE_ADDR", "Cf-Connecting-Ip"),
    ]
)
found = st.ip_addresses().map(str)
inside = st.ip_addresses(network="10.0.0.0/8").map(str) | st.ip_addresses(
    network="2001:db8::/32"
).map(str)
spelled = st.tuples(
    st.sampled_from(["{}", "{}:80", "[{}]", "[{}]:443", '"{}"', "{}%eth0", "::ffff:{}", " {} "]),
    found | inside,
).map(lambda pair: pair[0].format(pair[1]))
anything = st.text(st.characters(max_codepoint=255, exclude_characters="\r\n"), max_size=60)
hop = found | inside | spelled | anything
value = st.lists(hop, max_size=6).map(", ".join) | anything
long_value = st.tuples(hop, st.integers(100, 8_000)).map(lambda pair: f"{pair[0]}, " * pair[1])
written = st.lists(st.tuples(names, value | long_value), max_size=4)
peers = st.none() | inside | found | anything.filter(bool)
sent = st.builds(Sent, written, st.lists(found | inside | spelled, max_size=4))

requests = pytest.mark.parametrize("request_by", [by_wsgi, by_asgi], ids=["wsgi", "asgi"])


@pytest.fixture(autouse=True, scope="module")
def _trusting() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(addresses, "conf", lambda: settings_of(TRUSTED))
        yield


def request_of(request_by: Any, peer: str | None, what: Sent) -> HttpRequest:
    lines = [("X-Forwarded-For", each) for each in what.appended]
    return request_by(peer, [*what.written, *lines])  # type: ignore[no-any-return]


@requests
@given(peers, sent)
@hypothesis_settings(max_examples=150)
@example(None, Sent([("X-Forwarded-For", "9" * 65_536)], []))
@example("10.0.0.1", Sent([("X-Forwarded-For", "6.6.6.6, " * 8_000)], ["203.0.113.7"]))
@example("10.0.0.1", Sent([("X_Forwarded_For", "6.6.6.6")], []))
def test_it_is_the_peer_or_one_from_the_right(request_by, peer, what) -> None:
    """Everybody to the right of the one that is found is a proxy that is trusted."""
    request = request_of(request_by, peer, what)
    client = client_address(request)
    assert by_ip(request, "") == ("ip", block(client))
    assert dict(seen(request))["counted by ip as"] == (
        block(client) or "one bucket for all such clients"
    )
    header = request.META.get("HTTP_X_FORWARDED_FOR", "")
    chain = [parse(each) for each in header[-4096:].split(",")[-50:]]
    address = parse(peer or "")
    allowed = {str(address) if address else peer or ""}
    if address in PROXIES and (address or not peer):
        for each in reversed(chain):
            if each is None:
                break
            allowed = {str(each)}
            if each not in PROXIES:
                break
    assert {client} == allowed


@requests
@given(peers, sent, written)
@hypothesis_settings(max_examples=150)
@example("10.0.0.1", Sent([], ["203.0.113.7"]), [("X-Forwarded-For", "6.6.6.6, " * 8_000)])
@example(None, Sent([], ["10.0.0.9", "[2001:4::1]:1"]), [("X-Forwarded-For", '"')])
def test_what_the_client_writes_never_changes_its_key(request_by, peer, what, other) -> None:
    """Its own words stand to the left of what the first proxy says of it."""
    if not any(parse(each) not in PROXIES for each in what.appended):
        # Nobody from outside is named: the peer itself is the client, or all are proxies.
        what = what._replace(appended=["198.51.100.1", *what.appended])
    one = by_ip(request_of(request_by, peer, what), "")
    assert by_ip(request_of(request_by, peer, what._replace(written=other)), "") == one
