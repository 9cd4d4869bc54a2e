"""Whatever a client writes into its headers: it breaks nothing, and changes nobody."""

import ipaddress

from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ratelimit_app.addresses import block, parse

from .clients import client

TEN = ("10.0.0.0/8",)

addresses = st.ip_addresses().map(str) | st.ip_addresses(network="10.0.0.0/8").map(str)
texts = st.text(st.characters(max_codepoint=255), max_size=30)
networks = st.lists(
    st.sampled_from(["10.0.0.0/8", "2001:db8::/32", "203.0.113.7", "0.0.0.0/0", "::/0"]), max_size=3
)


@given(texts | addresses | st.none(), st.text(max_size=80) | st.none(), networks)
@hypothesis_settings(max_examples=2000)
@example("10.0.0.1", "%", ["10.0.0.0/8"])
@example("fe80::1%", "]:1,[::%]", ["::/0"])
def test_no_header_breaks_it(remote: str | None, xff: str | None, trusted: list[str]) -> None:
    found = client(remote, xff, trusted)
    assert isinstance(block(found), str)


@given(
    st.text(max_size=200), addresses, st.lists(st.ip_addresses(network="10.0.0.0/8"), max_size=4)
)
@hypothesis_settings(max_examples=2000)
@example("[", "198.51.100.1", [])
@example('"', "198.51.100.1", [])
@example("10.0.0.1,10.0.0.1", "198.51.100.1", [])
def test_what_the_client_writes_never_changes_who_it_is(
    prefix: str, address: str, proxies: list[ipaddress.IPv4Address]
) -> None:
    """Proxies append: the client's own words stand further left."""
    if address.startswith("10."):
        # A client inside of the trusted network may name another: it is trusted.
        return
    appended = ", ".join([address, *map(str, proxies)])
    alone = client("10.0.0.1", appended, TEN)
    assert client("10.0.0.1", f"{prefix}, {appended}", TEN) == alone == str(parse(address))


@given(texts, st.text(max_size=200))
@hypothesis_settings(max_examples=2000)
def test_without_trust_no_header_changes_anything(remote: str, xff: str) -> None:
    assert client(remote, xff) == client(remote)
