"""From an identity to the few bytes that stand for it in a store; nobody can read it back."""

import hashlib
import os
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

from .conf import conf

#: Who is counted: texts, of which the first is the kind.
Identity: TypeAlias = tuple[str, ...]

#: 15 bytes: 20 characters of Base64 without padding, and no more memory than 48 bytes in Python.
DIGEST_SIZE = 15
#: Up to this many characters of an identity its digest is remembered: a header may be long.
_REMEMBERED = 128

_salt = b""


def digest(identity: Identity) -> bytes:
    """A keyed hash (BLAKE2b, RFC 7693) of the parts, each with its length: none run together."""
    if sum(map(len, identity)) > _REMEMBERED:
        return _digest.__wrapped__(identity, conf().secret, _salt)
    return _digest(identity, conf().secret, _salt)


def digest_of(given: Callable[[str, str], Identity], value: str, name: str) -> bytes:
    """The digest of what `given` makes of a value and a name: of a client named by hand."""
    now = conf()
    if len(value) > _REMEMBERED:
        return digest(given(value, name))
    return _digest_of(given, value, name, now.secret, _salt, now.ipv6_prefix)


@lru_cache(maxsize=16_384)
def _digest_of(
    given: Callable[[str, str], Identity],
    value: str,
    name: str,
    secret: bytes,
    salt: bytes,
    _ipv6_prefix: int,
) -> bytes:
    """What the settings say is in the arguments, since the answer is remembered for them."""
    return _digest.__wrapped__(given(value, name), secret, salt)


@lru_cache(maxsize=16_384)
def _digest(identity: Identity, secret: bytes, salt: bytes) -> bytes:
    text = "".join([f"{len(part)}:{part}" for part in identity])
    return hashlib.blake2b(
        text.encode("utf-8", "surrogatepass"),
        key=secret,
        salt=salt,
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
