"""A command is the same bytes, whoever encodes it."""

from typing import Any

import pytest
import redis

from ratelimit_app.stores import encoding

COMMANDS: list[tuple[Any, ...]] = [
    ("PING",),
    ("EVALSHA", "a" * 40, 2, "rl1:{a}b", "rl1:{a}c", b"1", b"\x00\xff\r\n$5", b""),
    ("ZREMRANGEBYSCORE", "schlüssel", "-inf", 2**53),
    ("SET", "k", b"x" * 100_000),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_hiredis_encodes_what_redis_py_does(
    monkeypatch: pytest.MonkeyPatch, command: tuple[Any, ...]
) -> None:
    connection = redis.Connection()
    by_hiredis = b"".join(encoding.encoded(connection, command))
    monkeypatch.setattr(encoding, "pack_command", None)
    assert b"".join(encoding.encoded(connection, command)) == by_hiredis
    assert by_hiredis.startswith(b"*%d\r\n" % len(command))
