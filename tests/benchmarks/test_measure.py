"""The benchmark's own tools: who fails takes no further part, and a trip is counted once."""

import re
from pathlib import Path

import pytest
import redis

from benchmarks import measure
from benchmarks.peers import PEERS
from benchmarks.tap import Tap
from tests.servers import RedisServer


def test_one_that_fails_breaks_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "ROUNDS", 3)
    failures: list[tuple[str, str]] = []
    calls = 0

    def fails_late(_calls: int) -> float:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise OSError("gone")
        return 0.1

    found = measure.per_call(
        {"steady": lambda calls: calls * 2e-6, "late": fails_late},
        lambda name, error: failures.append((name, str(error))),
    )
    assert list(found) == ["steady"]
    assert found["steady"] == pytest.approx((2.0, 2.0, 2.0))
    assert failures == [("late", "gone")]


def test_a_pipeline_is_one_trip_and_two_commands_are_two(redis_server: RedisServer) -> None:
    tap = Tap(redis_server.port)
    client = redis.Redis(port=tap.port)
    try:
        client.ping()
        before = tap.heard
        client.ping()
        client.ping()
        assert tap.heard.trips - before.trips == 2
        assert tap.heard.sent - before.sent == 2 * len(b"*1\r\n$4\r\nPING\r\n")
        assert tap.heard.received - before.received == 2 * len(b"+PONG\r\n")
        both = client.pipeline(transaction=False)
        both.ping()
        both.ping()
        both.execute()
        assert tap.heard.trips - before.trips == 3
    finally:
        client.close()
        tap.close()


def test_every_peer_is_pinned() -> None:
    lines = (Path(measure.__file__).parent / "requirements.txt").read_text().splitlines()
    pinned = {line.split("==")[0] for line in lines if re.fullmatch(r"[a-z-]+==[0-9.]+", line)}
    # Django REST framework is ours as well, and locked with our own.
    assert set(PEERS) - {"djangorestframework"} <= pinned
