"""Who is asking, on real servers: what each makes of forged headers, and the site of that.

docs/keys.md gives these tables in words. `whoami` must say the same as the limiter counts.
"""

import json
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from . import databases
from .processes import Server, Site
from .raw import Reply, send

#: What a client sends, and what proxies on its way appended.
SENT: dict[str, list[str]] = {
    "nothing": [],
    "a proxy's": ["X-Forwarded-For: 203.0.113.7"],
    "forged": ["X-Forwarded-For: 6.6.6.6, 203.0.113.7"],
    "twice": ["X-Forwarded-For: 6.6.6.6", "X-Forwarded-For: 203.0.113.7, 10.0.0.2"],
    "underscores": ["X_Forwarded_For: 6.6.6.6", "X-Forwarded-For: 203.0.113.7"],
    "other names": ["Forwarded: for=6.6.6.6", "X-Real-IP: 6.6.6.6", "Remote-Addr: 6.6.6.6"],
    "8 kB": ["X-Forwarded-For: " + "6.6.6.6, " * 890 + "203.0.113.7"],
    "a port": ["X-Forwarded-For: 6.6.6.6, [2001:db8::1]:443"],
    "text": ["X-Forwarded-For: text"],
}
WORDS = {
    "127.0.0.1": "peer",
    "203.0.113.7": "client",
    "2001:db8::1": "client",
    "10.0.0.2": "proxy",
    "6.6.6.6": "FORGED",
    "text": "FORGED",
    "": "nobody",
}

PEER = dict.fromkeys(SENT, "peer")
NOBODY = dict.fromkeys(SENT, "nobody")
CLIENT = dict.fromkeys(SENT, "client")
NAMELESS = ("nothing", "other names", "text")
#: As it should be: the right one where a proxy says who, and else the peer.
RIGHT = CLIENT | dict.fromkeys(NAMELESS, "peer")
RIGHT_ON_A_SOCKET = CLIENT | dict.fromkeys(NAMELESS, "nobody")
#: uvicorn has put the right one in the peer's place; what names nobody it takes as well.
REWRITTEN = RIGHT | {"text": "FORGED"}
#: The leftmost is whatever the client wrote.
LEFTMOST = {"forged": "FORGED", "twice": "FORGED", "8 kB": "FORGED", "a port": "FORGED"}

GUNICORN = [sys.executable, "-m", "gunicorn", "tests.live.site.wsgi", "--no-control-socket"]
UVICORN = [sys.executable, "-m", "uvicorn", "tests.live.site.asgi:application"]
TCP_GUNICORN, TCP_UVICORN = [*GUNICORN, "--bind", "fd://{fd}"], [*UVICORN, "--fd", "{fd}"]
STAR = ["--forwarded-allow-ips", "*"]

#: A server and its settings; whom the site sees without TRUSTED_PROXIES, and with
#: ["127.0.0.1", "10.0.0.0/8", "unix"].
SERVERS = {
    "gunicorn": (TCP_GUNICORN, PEER, RIGHT),
    "gunicorn *": ([*TCP_GUNICORN, *STAR], PEER, RIGHT),
    "gunicorn PROXY": ([*TCP_GUNICORN, "--proxy-protocol", "auto"], PEER, RIGHT),
    "gunicorn unix": ([*GUNICORN, "--bind", "unix:{socket}"], NOBODY, RIGHT_ON_A_SOCKET),
    "uvicorn": (TCP_UVICORN, REWRITTEN | {"twice": "proxy"}, REWRITTEN),
    "uvicorn no": ([*TCP_UVICORN, "--no-proxy-headers"], PEER, RIGHT),
    "uvicorn *": ([*TCP_UVICORN, *STAR], REWRITTEN | LEFTMOST, REWRITTEN | LEFTMOST),
    "uvicorn unix": ([*UVICORN, "--uds", "{socket}"], NOBODY, RIGHT_ON_A_SOCKET),
    "uvicorn unix *": (
        [*UVICORN, "--uds", "{socket}", *STAR],
        RIGHT_ON_A_SOCKET | LEFTMOST | {"text": "FORGED"},
        RIGHT_ON_A_SOCKET | LEFTMOST | {"text": "FORGED"},
    ),
}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[Server, Path]]]:
    folder = tmp_path_factory.mktemp("who")
    with Site(folder, databases.empty(folder)) as site:
        servers = {}
        for at, (name, (command, _, _)) in enumerate(SERVERS.items()):
            path = folder / f"socket-{at}"
            parts = [part.replace("{socket}", str(path)) for part in command]
            servers[name] = site._started_server(parts), path
        yield servers


@pytest.mark.parametrize("name", SERVERS)
def test_the_site_sees_whom_the_table_says(running, name) -> None:
    server, path = running[name]
    _, alone, trusting = SERVERS[name]
    where = path if "{socket}" in " ".join(SERVERS[name][0]) else server.port
    found = {sent: who(where, *headers) for sent, headers in SENT.items()}
    assert {sent: none for sent, (none, _) in found.items()} == alone
    assert {sent: some for sent, (_, some) in found.items()} == trusting


def who(where: int | Path, *headers: str) -> tuple[str, str]:
    """Without trusted proxies, and with; in the words of the table."""
    found = json.loads(answer(where, *headers).body)
    for client, seen in found.values():
        shown = seen["client address"]
        assert shown == (client or "none: all such clients share one bucket")
        assert seen["counted by ip as"].startswith(client.partition("::")[0] or "one bucket")
        # The page warns of a peer that is in the header, for then the server has put it there.
        peer = seen["peer (REMOTE_ADDR)"]
        assert ("which X-Forwarded-For names" in peer) is (
            peer.split(",")[0] in "".join(headers) and peer != "text"
        )
    return WORDS[found["none"][0]], WORDS[found["some"][0]]


def answer(where: int | Path, *headers: str, before: str = "") -> Reply:
    """Of a server that may still be starting: a Unix socket comes into being with it."""
    deadline = time.monotonic() + 60
    while isinstance(where, Path) and not listens(where):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return send(where, f"{before}GET /who/", *headers)


def listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


def test_of_a_header_of_56_kb_the_right_end_is_read(running) -> None:
    """uvicorn lets 64 kB through; gunicorn refuses more than 8 kB by itself."""
    server, _ = running["uvicorn no"]
    reply = answer(server.port, "X-Forwarded-For: " + "6.6.6.6, " * 7000 + "203.0.113.7")
    assert json.loads(reply.body)["some"][0] == "203.0.113.7"


def test_the_proxy_protocol_names_the_client_without_a_header(running) -> None:
    server, _ = running["gunicorn PROXY"]
    before = "PROXY TCP4 203.0.113.7 10.0.0.1 4711 80\r\n"
    reply = answer(server.port, "X-Forwarded-For: 6.6.6.6", before=before)
    assert [client for client, _ in json.loads(reply.body).values()] == ["203.0.113.7"] * 2
