"""Whose address a request came from: the peer's, or what trusted proxies say of theirs."""

import ipaddress
import re
from collections.abc import Iterator
from functools import lru_cache

from django.http import HttpRequest

from .conf import Address, conf

#: How much of a forwarded header is read, from its right end: bytes and hops.
_LONGEST, _HOPS = 4096, 50
#: No address is longer, with brackets, port and scope id: anything else is not looked at.
_REMEMBERED = 128
_BRACKETED = re.compile(r"\[([^\]]*)\](?::\d+)?")
_WITH_PORT = re.compile(r"([^:]*):\d+")


def client_address(request: HttpRequest) -> str:
    """The client's address, or '' where nobody knows one (a Unix socket that is not trusted)."""
    client = peer_of(request)
    for address in hops(request):
        client = str(address)
    return client


def client_block(request: HttpRequest) -> str:
    """The `block` of the client's address."""
    if not conf().trusted_proxies:
        # Where nobody is trusted the peer is the client, and `block` takes any spelling of it.
        return block(peer_of(request))
    return block(client_address(request))


def peer_of(request: HttpRequest) -> str:
    """Who connected, as the server says; '' on a Unix socket."""
    return str(request.META.get("REMOTE_ADDR") or "")


def hops(request: HttpRequest) -> Iterator[Address]:
    """From the peer, if it has an address, outwards to the client, which is the last one.

    The peer is believed; `X-Forwarded-For` only if the peer is a trusted proxy, and then hop by
    hop from the right: the first address that is not a trusted proxy is the client's. What the
    client itself wrote stands further left and is never reached.
    """
    trusted, peer = conf().trusted_proxies, peer_of(request)
    address = parse(peer)
    if address is not None:
        yield address
    elif peer:
        # A name that says nothing of where it is.
        return
    if not trusted or address not in trusted:
        return
    for address in forwarded(request):
        if address is None:
            # A proxy that names no address: the last one that is known answers for it.
            return
        yield address
        if address not in trusted:
            return


def forwarded(request: HttpRequest) -> Iterator[Address | None]:
    """The hops of `X-Forwarded-For` from the right, at most 50 and 4 kB; None is no address."""
    header = str(request.META.get("HTTP_X_FORWARDED_FOR") or "")[-_LONGEST:]
    return map(parse, reversed(header.split(",")[-_HOPS:]))


def parse(text: str) -> Address | None:
    """An address out of one hop of a header: without port, brackets, quotes, scope id.

    An IPv4 address inside IPv6 (`::ffff:192.0.2.1`) is the IPv4 address.
    """
    return _parse(text) if len(text) <= _REMEMBERED else None


@lru_cache(maxsize=16_384)
def _parse(text: str) -> Address | None:
    text = text.strip().strip('"')
    if found := _BRACKETED.fullmatch(text) or _WITH_PORT.fullmatch(text):
        text = found[1]
    try:
        # Python takes any text at all as a scope id, so it must not tell clients apart.
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped or address


def block(text: str) -> str:
    """What is counted as one client: an IPv4 address, or the IPv6 network of `IPV6_PREFIX`."""
    return _block(text, conf().ipv6_prefix) if len(text) <= _REMEMBERED else text


@lru_cache(maxsize=16_384)
def _block(text: str, prefix: int) -> str:
    address = parse(text)
    if address is None:
        return text
    if address.version == 4:
        return str(address)
    return f"{ipaddress.IPv6Address(int(address) >> 128 - prefix << 128 - prefix)}/{prefix}"
