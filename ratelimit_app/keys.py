"""Who is counted: from a request, or from a value, to an identity, and its digest.

An identity is a tuple of texts. None means that the policy does not apply to the request.
"""

import hashlib
import os
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest
from django.utils.module_loading import import_string

from .addresses import block, client_address, parse
from .conf import conf

Identity: TypeAlias = tuple[str, ...]

_salt = b""

#: 15 bytes: 20 characters of Base64 without padding, and no more memory than 48 bytes in Python.
DIGEST_SIZE = 15


class Key(NamedTuple):
    """A kind of key: who a request is, and what a value given by hand means.

    Both also get the policy's `key_name`.
    """

    of: Callable[[HttpRequest, str], Identity | None]
    given: Callable[[str, str], Identity]
    needs_user: bool = False
    needs_value: bool = True


def digest(identity: Identity) -> bytes:
    """A keyed hash (BLAKE2b, RFC 7693) of the parts, each with its length: none run together."""
    text = "".join([f"{len(part)}:{part}" for part in identity])
    return hashlib.blake2b(
        text.encode("utf-8", "surrogatepass"),
        key=conf().secret,
        salt=_salt,
        digest_size=DIGEST_SIZE,
    ).digest()


def freshen() -> None:
    """From here on everybody is counted anew, for tests: no store is emptied, or even asked."""
    global _salt
    _salt = os.urandom(16)


def tag(*parts: str) -> bytes:
    """A short hash of what makes a policy's buckets its own; nothing secret is in it."""
    text = "".join([f"{len(part)}:{part}" for part in parts])
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=9).digest()


def by_ip(request: HttpRequest, _name: str) -> Identity:
    """The client's address; all clients without one (a Unix socket) share a bucket."""
    return ("ip", block(client_address(request)))


def by_user(request: HttpRequest, _name: str) -> Identity | None:
    """The logged-in user; nobody else is counted."""
    user = user_of(request)
    return ("user", str(user.pk)) if user.is_authenticated else None


def by_user_or_ip(request: HttpRequest, name: str) -> Identity:
    """The logged-in user, and anybody else by address."""
    return by_user(request, name) or by_ip(request, name)


def by_session(request: HttpRequest, name: str) -> Identity:
    """The session; a client without one by address, or it would go free by dropping its cookie."""
    key = getattr(getattr(request, "session", None), "session_key", None)
    return ("session", key) if key else by_ip(request, name)


def by_header(request: HttpRequest, name: str) -> Identity:
    """The value of a header; all clients that do not send it share a bucket."""
    return ("header", name.lower(), request.headers.get(name, ""))


def by_all(_request: HttpRequest, _name: str) -> Identity:
    """One bucket for everybody."""
    return ("global",)


def by_function(request: HttpRequest, name: str) -> Identity | None:
    """What a function of the site says: a text, a number, or None where it does not apply."""
    value = function(name)(request)
    return None if value is None else ("function", name, str(value))


def function(name: str) -> Callable[[HttpRequest], object]:
    """The site's own function: a name in `RATELIMIT["KEYS"]`, or a dotted path."""
    found: Any = import_string(conf().keys.get(name, name))
    if not callable(found):
        raise ImproperlyConfigured(f"The key function {name!r} cannot be called; give a function.")
    return found  # type: ignore[no-any-return]


def user_of(request: HttpRequest) -> Any:
    """The user a door has found, or the request's own."""
    found = getattr(request, "_ratelimit_user", None)
    return found or getattr(request, "user", None) or AnonymousUser()


async def aload_user(request: HttpRequest) -> None:
    """Find the user without blocking the event loop, for `user_of` to use."""
    auser = getattr(request, "auser", None)
    if auser is not None:
        request._ratelimit_user = await auser()  # type: ignore[attr-defined]


def _ip_given(value: str, _name: str) -> Identity:
    return ("ip", block(value))


def _user_or_ip_given(value: str, name: str) -> Identity:
    """An address is one; anything else is the primary key of a user."""
    return ("user", value) if parse(value) is None else _ip_given(value, name)


KEYS: dict[str, Key] = {
    "ip": Key(by_ip, _ip_given),
    "user": Key(by_user, lambda value, _name: ("user", value), needs_user=True),
    "user_or_ip": Key(by_user_or_ip, _user_or_ip_given, needs_user=True),
    "session": Key(by_session, lambda value, _name: ("session", value)),
    "header": Key(by_header, lambda value, name: ("header", name.lower(), value)),
    "global": Key(by_all, lambda _value, _name: ("global",), needs_value=False),
    "function": Key(by_function, lambda value, name: ("function", name, value)),
}
