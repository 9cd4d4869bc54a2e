"""Whose address a request came from: B1 to B4, the shared table, and headers nobody should send."""

import ipaddress
import json
from pathlib import Path
from typing import Any

import pytest
from django.test import RequestFactory, override_settings

from ratelimit_app.addresses import block, parse
from ratelimit_app.conf import SettingError, conf
from ratelimit_app.keys import KEYS

from .clients import client

TABLE = json.loads(
    (Path(__file__).parent.parent / "cases/tables/client_ip.json").read_text("utf-8")
)


@pytest.mark.parametrize("row", [each for each in TABLE["rows"] if "or" not in each], ids=str)
def test_the_table(row: dict[str, Any]) -> None:
    headers = row.get("headers", {})
    assert client(row["remote"], row.get("xff"), row["trusted"], **headers) == row["client"]


def test_the_table_is_whole() -> None:
    assert [len(TABLE[part]) for part in ("rows", "policy_dependent", "by_hops")] == [9, 1, 3]


@pytest.mark.parametrize("row", TABLE["policy_dependent"], ids=str)
def test_without_a_trust_list_the_peer_is_the_client(row: dict[str, Any]) -> None:
    assert row["right"] == f"{client(row['remote'], row['xff'])} (B1)"


@pytest.mark.parametrize("row", TABLE["by_hops"], ids=str)
def test_so_many_hops_are_so_many_networks(row: dict[str, Any]) -> None:
    hops = [row["remote"], *reversed(row["xff"].split(", "))][: row["hops"]]
    assert client(row["remote"], row["xff"], hops) == row["client"]


def test_what_is_no_network_is_refused() -> None:
    (row,) = [each for each in TABLE["rows"] if "or" in each]
    with (
        override_settings(RATELIMIT={"TRUSTED_PROXIES": row["trusted"]}),
        pytest.raises(SettingError, match="not-an-ip"),
    ):
        conf()


TEN = ("10.0.0.0/8",)


@pytest.mark.parametrize(
    ("xff", "expected"),
    [
        # B1, B2: what the client wrote stands to the left of what the proxies wrote.
        ("6.6.6.6, 203.0.113.7", "203.0.113.7"),
        ("203.0.113.7, 10.0.0.2", "203.0.113.7"),
        ("203.0.113.7,10.0.0.3", "203.0.113.7"),
        ("10.0.0.9, 10.0.0.2", "10.0.0.9"),
        # Spellings of one hop.
        (" 203.0.113.7 ", "203.0.113.7"),
        ("203.0.113.7:8080", "203.0.113.7"),
        ('"203.0.113.7"', "203.0.113.7"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ('"[2001:db8::1]:443"', "2001:db8::1"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("::ffff:203.0.113.7, ::ffff:10.0.0.2", "203.0.113.7"),
        ("fe80::1%eth0", "fe80::1"),
        # What names nobody: the last that is known answers for it.
        ("", "10.0.0.1"),
        (",", "10.0.0.1"),
        ("203.0.113.7,", "10.0.0.1"),
        ("203.0.113.7, unknown", "10.0.0.1"),
        ("203.0.113.7, unknown, 10.0.0.2", "10.0.0.2"),
        ("203.0.113.7, _hidden, 10.0.0.2", "10.0.0.2"),
        ("203.0.113.007", "10.0.0.1"),
        ("0x7f.1", "10.0.0.1"),
        ("3405803783", "10.0.0.1"),
        ("٢٠٣.0.113.7", "10.0.0.1"),
        ("203.0.113.7/32", "10.0.0.1"),
        ("[203.0.113.7", "10.0.0.1"),
        ("203.0.113.7\x00", "10.0.0.1"),
    ],
)
def test_behind_a_trusted_proxy(xff: str, expected: str) -> None:
    assert client("10.0.0.1", xff, TEN) == expected


@pytest.mark.parametrize("remote", ["203.0.113.9", "::ffff:203.0.113.9", "2001:db8::9"])
def test_a_stranger_is_not_believed(remote: str) -> None:
    """B1: six requests, each with a header of its own, are one client."""
    found = {client(remote, f"198.51.100.{at}", TEN) for at in range(6)}
    assert found == {str(parse(remote))}


@pytest.mark.parametrize("name", ["forwarded", "x-real-ip", "cf-connecting-ip", "true-client-ip"])
def test_no_other_header_is_believed(name: str) -> None:
    assert client("10.0.0.1", None, TEN, **{name: "9.9.9.9"}) == "10.0.0.1"


@pytest.mark.parametrize("remote", [None, "", "unix:", "localhost"])
def test_a_peer_without_an_address_is_what_it_says(remote: str | None) -> None:
    assert client(remote, "9.9.9.9", ["0.0.0.0/0", "::/0"]) == (remote or "")


@pytest.mark.parametrize(
    ("remote", "xff", "expected"),
    [
        (None, "203.0.113.7", "203.0.113.7"),
        ("", "6.6.6.6, 203.0.113.7, 10.0.0.2", "203.0.113.7"),
        ("", None, ""),
        ("", "unknown", ""),
        ("", "203.0.113.7, unknown", ""),
        # A peer that has an address, or a name, came by no such socket.
        ("192.0.2.1", "203.0.113.7", "192.0.2.1"),
        ("unix:", "203.0.113.7", "unix:"),
    ],
)
def test_whoever_comes_by_a_trusted_socket_is_a_proxy(
    remote: str | None, xff: str | None, expected: str
) -> None:
    assert client(remote, xff, ("unix", *TEN)) == expected


def test_a_mapped_proxy_is_the_proxy() -> None:
    assert client("::ffff:10.0.0.1", "203.0.113.7", TEN) == "203.0.113.7"


def test_of_a_long_header_the_right_end_is_read() -> None:
    """At most 50 hops; whoever sends more is counted as the 50th."""
    hops = [f"10.0.{at // 250}.{at % 250}" for at in range(300)]
    assert client("10.0.0.1", ", ".join(["203.0.113.7", *hops]), TEN) == hops[-50]
    assert client("10.0.0.1", "x" * 100_000 + ", 203.0.113.7", TEN) == "203.0.113.7"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # B3: IPv4 inside of IPv6 is IPv4.
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("::ffff:c000:201", "192.0.2.1"),
        ("::ffff:198.51.100.7", "198.51.100.7"),
        # B4: a client has a whole /64, and a dotted tail is only another spelling.
        ("2001:db8:0:1::", "2001:db8:0:1::/64"),
        ("2001:db8:0:1:ffff:ffff:ffff:ffff", "2001:db8:0:1::/64"),
        ("2001:db8:1:2::1.2.3.4", "2001:db8:1:2::/64"),
        ("2001:DB8:0:0001::A", "2001:db8:0:1::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("fe80::1%25wlan0:evil", "fe80::/64"),
        ("::1", "::/64"),
        ("::", "::/64"),
        ("", ""),
        ("unix:", "unix:"),
    ],
)
def test_who_is_counted_as_one(text: str, expected: str) -> None:
    assert block(text) == expected


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [(128, "2001:db8:1:2:3:4:5:6/128"), (48, "2001:db8:1::/48"), (1, "::/1"), (56, None)],
)
def test_the_prefix_is_a_setting(prefix: int, expected: str | None) -> None:
    address = "2001:db8:1:2:3:4:5:6"
    network = ipaddress.ip_network(f"{address}/{prefix}", strict=False)
    with override_settings(RATELIMIT={"IPV6_PREFIX": prefix}):
        assert block(address) == (expected or str(network)) == str(network)
        assert block("192.0.2.1") == "192.0.2.1"


def test_a_hundred_addresses_of_one_network_are_one_client() -> None:
    network = int(ipaddress.IPv6Address("2001:db8:0:1::"))
    assert len({block(str(ipaddress.IPv6Address(network + at**9))) for at in range(100)}) == 1


@pytest.mark.parametrize("trusted", [[], ["10.0.0.0/8"]], ids=["nobody trusted", "others trusted"])
@pytest.mark.parametrize(
    ("peers", "counted"),
    [
        (["2001:db8:0:1::1", "2001:DB8:0:1:0:0:0:2", "2001:db8:0:1::3%eth0"], "2001:db8:0:1::/64"),
        (["192.0.2.1", "::ffff:192.0.2.1", "::FFFF:C000:201", "192.0.2.1:8080"], "192.0.2.1"),
        (["no address"], "no address"),
    ],
)
def test_whoever_is_trusted_a_peer_is_counted_as_one(
    peers: list[str], counted: str, trusted: list[str]
) -> None:
    with override_settings(RATELIMIT={"TRUSTED_PROXIES": trusted}):
        for peer in peers:
            request = RequestFactory(REMOTE_ADDR=peer).get("/")
            assert KEYS["ip"].of(request, "") == ("ip", counted)
