"""Who is counted: from a request, or from a value given by hand, to an identity.

None means that the policy does not apply to the request.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple
from uuid import UUID

from asgiref.sync import iscoroutinefunction
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest
from django.utils.module_loading import import_string

from .addresses import block, client_block, parse
from .conf import conf
from .digests import Identity

log = logging.getLogger("ratelimit_app")
_said: set[str] = set()


class _Nobody:
    """Who is not logged in; Django's own would need `django.contrib.auth` to be installed."""

    is_authenticated, pk = False, None


class Key(NamedTuple):
    """A kind of key: its name for people, who a request is, and what a value given by hand means.

    `of` and `given` also get the policy's `key_name`, which only a key that is `named` has.
    `aload` fetches what `of` needs without blocking the event loop. `asked` is how staff are asked
    for a value; one that is `secret` is never shown whole.
    """

    words: str
    of: Callable[[HttpRequest, str], Identity | None]
    given: Callable[[str, str], Identity]
    aload: Callable[[HttpRequest], Awaitable[None]] | None = None
    needs_value: bool = True
    named: bool = False
    asked: str = "Key"
    secret: bool = False


def by_ip(request: HttpRequest, _name: str) -> Identity:
    """The client's address; all clients without one (a Unix socket) share a bucket."""
    counted = client_block(request)
    if not counted:
        _warn_once(
            "The server gives no address of a client (does it listen on a Unix socket?), so all "
            "such clients share one bucket: name 'unix' in TRUSTED_PROXIES if the proxy sets "
            "X-Forwarded-For, or count by another key."
        )
    return ("ip", counted)


def by_user(request: HttpRequest, _name: str) -> Identity | None:
    """The logged-in user; nobody else is counted."""
    user = user_of(request)
    return ("user", str(user.pk)) if user.is_authenticated else None


def by_user_or_ip(request: HttpRequest, name: str) -> Identity:
    """The logged-in user, and anybody else by address."""
    return by_user(request, name) or by_ip(request, name)


def by_session(request: HttpRequest, name: str) -> Identity:
    """The session; a client without one by address, or it would go free by dropping its cookie."""
    session: Any = getattr(request, "session", None)
    # The key is what the cookie says; behind one that is invented there is nothing to load.
    if _may_load(session) and session.keys():
        return ("session", session.session_key)
    return by_ip(request, name)


def by_header(request: HttpRequest, name: str) -> Identity:
    """The value of a header; all clients that do not send it share a bucket."""
    value = request.headers.get(name, "")
    if not value:
        _warn_once(f"Some clients send no header {name}; all of them share one bucket.")
    return ("header", name.lower(), value)


def by_all(_request: HttpRequest, _name: str) -> Identity:
    """One bucket for everybody."""
    return ("global",)


def by_function(request: HttpRequest, name: str) -> Identity | None:
    """What a function of the site says: a text, a number, or None where it does not apply."""
    value = function(name)(request)
    return None if value is None else ("function", name, as_text(value))


def as_text(value: object) -> str:
    """A value that says who is counted. Raises `ValueError` for what is no text and no number.

    What an object or a coroutine looks like as text may be another each time: nobody is counted.
    """
    if isinstance(value, bool) or not isinstance(value, (str, int, UUID)):
        raise ValueError(f"{value!r} says of nobody who they are: give a text, a number or a UUID.")
    return str(value)


def function(name: str) -> Callable[[HttpRequest], object]:
    """The site's own function: a name in `RATELIMIT["KEYS"]`, or a dotted path."""
    found: Any = import_string(conf().keys.get(name, name))
    if not callable(found):
        raise ImproperlyConfigured(f"The key function {name!r} cannot be called; give a function.")
    if iscoroutinefunction(found):
        raise ImproperlyConfigured(f"The key function {name!r} is async; give one that is not.")
    return found  # type: ignore[no-any-return]


def user_of(request: HttpRequest) -> Any:
    """The request's user: what it stands for, if `aload_user` has found out already."""
    session = getattr(request, "session", None)
    if getattr(session, "session_key", None) and not _may_load(session):
        return _Nobody()
    user = getattr(request, "user", None)
    lazy, found = getattr(request, "_ratelimit_user", (None, None))
    if user is None:
        return found or _Nobody()
    # Who logs in, or is found by a token, is another user from then on.
    return found if found is not None and user is lazy else user


async def aload_user(request: HttpRequest) -> None:
    """Find the user without blocking the event loop, for `user_of` to use."""
    auser = getattr(request, "auser", None)
    session = getattr(request, "session", None)
    if getattr(session, "session_key", None) and not _may_load(session):
        return
    if auser is not None:
        user = getattr(request, "user", None)
        request._ratelimit_user = user, await auser()  # type: ignore[attr-defined]


async def aload_session(request: HttpRequest) -> None:
    """Load the session without blocking the event loop; `by_session` finds it loaded."""
    session: Any = getattr(request, "session", None)
    if _may_load(session):
        await session.akeys()


def _may_load(session: Any) -> bool:
    """Whether there is a session to look for.

    A cookie may hold what no session is called; some databases refuse even to look for a NUL, and
    that error would be the client's way around the limit.
    """
    key = getattr(session, "session_key", None)
    return bool(key) and str(key).isprintable()


def _warn_once(text: str) -> None:
    if text not in _said:
        _said.add(text)
        log.warning(text)


def _ip_given(value: str, _name: str) -> Identity:
    return ("ip", block(value))


def _user_or_ip_given(value: str, name: str) -> Identity:
    """An address is one; anything else is the primary key of a user."""
    return ("user", value) if parse(value) is None else _ip_given(value, name)


def _user_given(value: str, _name: str) -> Identity:
    return ("user", value)


def _session_given(value: str, _name: str) -> Identity:
    return ("session", value)


def _header_given(value: str, name: str) -> Identity:
    return ("header", name.lower(), value)


def _function_given(value: str, name: str) -> Identity:
    return ("function", name, value)


#: Where a new kind is entered. The names are stored in rows and keys: never rename one.
KEYS: dict[str, Key] = {
    "ip": Key("client address", by_ip, _ip_given, asked="Address"),
    "user": Key("user", by_user, _user_given, aload_user, asked="Primary key of the user"),
    "user_or_ip": Key(
        "user, else client address",
        by_user_or_ip,
        _user_or_ip_given,
        aload_user,
        asked="Primary key of the user, or address",
    ),
    "session": Key(
        "session", by_session, _session_given, aload_session, asked="Session key", secret=True
    ),
    "header": Key(
        "header", by_header, _header_given, named=True, asked="Value of the header", secret=True
    ),
    "global": Key("everyone together", by_all, lambda *_: ("global",), needs_value=False),
    "function": Key(
        "function of the request",
        by_function,
        _function_given,
        named=True,
        asked="What the function returns",
        secret=True,
    ),
}
