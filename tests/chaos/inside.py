"""What the processes of a server know of themselves."""

import json
import time
from typing import Any

from tests.live.asking import at_once
from tests.live.processes import Server


def told(server: Server) -> dict[int, dict[str, Any]]:
    """What each process of a server knows of itself."""
    found: dict[int, dict[str, Any]] = {}
    deadline = time.monotonic() + 30
    while set(found) != server.pids:
        assert time.monotonic() < deadline
        for answer in at_once([server.port] * 8, "/told/"):
            found[answer.pid] = json.loads(answer.body)
    return found


def know_each_other(*servers: Server) -> None:
    """Until each process has heard of the others: two heartbeats at most."""
    deadline, many = time.monotonic() + 15, sum(len(server.pids) for server in servers)
    while {each["processes"] for server in servers for each in told(server).values()} != {many}:
        assert time.monotonic() < deadline
        time.sleep(0.2)
