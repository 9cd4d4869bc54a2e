"""Every release on record against the code as it stands."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import redis

import ratelimit_app
from ratelimit_app import digests
from ratelimit_app.algorithms import Decision
from ratelimit_app.stores.base import decision
from tests.servers import RedisServer

from .replay import Replay, policy_of
from .trace import KEY_PREFIX, RECORDS, SECRET_KEY, STEPS, Step

VERSIONS = sorted(path.stem for path in RECORDS.glob("*.json"))

every_release = pytest.mark.parametrize("version", VERSIONS)


@pytest.fixture
def replay(
    redis_server: RedisServer, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Replay]:
    settings.SECRET_KEY = SECRET_KEY
    monkeypatch.setattr(digests, "_salt", b"")
    with Replay(redis_server.url) as made:
        yield made


@pytest.fixture
def client(redis_server: RedisServer) -> Iterator[redis.Redis]:
    with redis_server.client() as found:
        for key in found.scan_iter(f"{KEY_PREFIX}:*"):
            found.delete(key)
        yield found


class Call(NamedTuple):
    """What was asked of a release, how its script was called, and what it replied."""

    step: Step
    arguments: list[bytes]
    reply: list[int]

    @property
    def decision(self) -> Decision:
        allowed, remaining, wait, reset = self.reply[:4]
        quota = policy_of(self.step).quota
        return decision(quota, allowed == 1, remaining, wait, reset, "redis")


def recorded(version: str) -> tuple[list[Call], dict[str, bytes]]:
    """The calls, and what they left in Redis."""
    kept = json.loads((RECORDS / f"{version}.json").read_text())
    calls = [
        Call(Step(kept["policies"][slug], *asked), [*map(bytes.fromhex, arguments)], reply)
        for slug, *asked, arguments, reply in kept["calls"]
    ]
    return calls, {key: bytes.fromhex(value) for key, value in kept["state"].items()}


def asked_then(client: redis.Redis, version: str, call: Call) -> object:
    """The script of the release, called as it was."""
    script = (RECORDS / f"{version}.lua").read_text()
    return client.eval(script, int(call.arguments[0]), *call.arguments[1:])


def test_this_release_is_on_record():
    assert ratelimit_app.__version__ in VERSIONS


@every_release
def test_buckets_of_a_release_go_on(version: str, replay: Replay, client: redis.Redis):
    """Half of each history is the release's, and the rest is asked of the code as it stands."""
    calls, _ = recorded(version)
    for number, call in enumerate(calls):
        if number % STEPS < STEPS / 2:
            assert asked_then(client, version, call) == call.reply
        else:
            assert replay.take(call.step) == call.decision, call.step


@every_release
def test_workers_of_both_share_a_count(version: str, replay: Replay, client: redis.Redis):
    """A deployment that rolls: now one answers and now the other."""
    calls, state = recorded(version)
    for number, call in enumerate(calls):
        if number % 2:
            assert asked_then(client, version, call) == call.reply
        else:
            assert replay.take(call.step) == call.decision, call.step
    assert sum(not call.reply[0] for call in calls) > 40
    assert {key: client.get(key) for key in state} == state
    assert len(list(client.scan_iter(f"{KEY_PREFIX}:*"))) == len(state)


@every_release
def test_what_a_release_left_in_redis_is_read(version: str, replay: Replay, client: redis.Redis):
    """From its dump alone: what is left of each bucket is what was left."""
    calls, state = recorded(version)
    for key, value in state.items():
        client.set(key, value)
    last = {replay.key(call.step): call for call in calls}
    assert set(state) <= set(last)
    assert len(state) > 20
    for call in last.values():
        look = replay.take(call.step._replace(cost=0))
        assert (look.allowed, look.remaining) == (True, call.decision.remaining), call.step
