"""Requests byte by byte, as no client library would send them, over TCP or a Unix socket."""

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Reply(NamedTuple):
    """What came back: the status (0: nothing), the headers by lower-case name, the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def send(where: int | Path, start: str, *headers: str, body: str = "") -> Reply:
    """`start` is the request line without its version; Latin-1, so that any byte can be sent."""
    lines = [f"{start} HTTP/1.1", "Host: testserver", "Connection: close", *headers]
    if body or not start.upper().startswith(("GET ", "HEAD ", "OPTIONS ")):
        lines.append(f"Content-Length: {len(body)}")
    text = "\r\n".join(lines) + "\r\n\r\n" + body
    with _connected(where) as connection:
        connection.settimeout(30)
        connection.sendall(text.encode("latin-1"))
        return _reply(b"".join(iter(lambda: connection.recv(65_536), b"")))


def _connected(where: int | Path) -> socket.socket:
    if isinstance(where, int):
        return socket.create_connection(("127.0.0.1", where), timeout=30)
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(where))
    return connection


def _reply(answer: bytes) -> Reply:
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    fields = [line.partition(":") for line in lines]
    status = int(first.split()[1]) if first else 0
    return Reply(status, {name.lower(): value.strip() for name, _, value in fields}, body)
