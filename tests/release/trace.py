"""The calls of a trace, and how a release is recorded: `python -m tests.release.trace`, once each.

What is recorded is not written anew for a release that is out: its workers are out there.
"""

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import redis

RECORDS = Path(__file__).parent / "records"
#: What a digest and a key are made with.
SECRET_KEY, KEY_PREFIX = "recorded", "site"
#: 2026-11-30, in ms.
START = 1_796_000_000_000

#: Limit, period (seconds) and burst of the policies of each algorithm; windows have no burst.
NUMBERS: tuple[tuple[int, str, int | None], ...] = ((10, "60", None), (7, "9.5", 3))
STEPS = 24


class Step(NamedTuple):
    """A take: of which policy, when (ms), by whom, and what it costs."""

    policy: dict[str, Any]
    now: int
    who: str
    cost: int


def steps() -> Iterator[Step]:
    """Two clients under every algorithm; now and then somebody waits, and a clock steps back."""
    from ratelimit_app.algorithms import ALGORITHMS, BUCKETS
    from ratelimit_app.sources import DEFAULTS

    chance = random.Random(1)
    for name in ALGORITHMS:
        for at, (limit, period, burst) in enumerate(NUMBERS):
            now = START
            policy = {
                **DEFAULTS,
                "methods": [],
                "slug": f"{name}-{at}",
                "algorithm": name,
                "limit": limit,
                "period": period,
                "burst": burst if name in BUCKETS else None,
            }
            for _ in range(STEPS):
                now += chance.choice((0, 1, 137, 999, 1_000, 3_500, 17_001, 90_000, -2_500))
                who, cost = f"192.0.2.{chance.randrange(2)}", chance.choice((1, 1, 1, 2, 0, 4))
                yield Step(policy, now, who, cost)


def record() -> None:
    """Write the records of the code as it stands."""
    import django
    from django.conf import settings

    django.setup()
    settings.SECRET_KEY = SECRET_KEY
    from ratelimit_app import __version__
    from tests.release.replay import Replay
    from tests.servers import RedisServer

    server = RedisServer()
    with server.client() as client, Replay(server.url) as replay:
        script = replay.store.taking.text
        asked = list(steps())
        calls = [_recorded(client, replay, script, step) for step in asked]
        state = {key.decode(): (client.get(key) or b"").hex() for key in client.keys("*")}
    server.stop()
    (RECORDS / f"{__version__}.lua").write_text(script)
    policies = {step.policy["slug"]: step.policy for step in asked}
    # A call is a line.
    lines = ",\n".join(map(json.dumps, calls))
    (RECORDS / f"{__version__}.json").write_text(
        f'{{"policies": {json.dumps(policies, indent=0)},\n'
        f'"state": {json.dumps(state, indent=0, sort_keys=True)},\n"calls": [\n{lines}\n]}}\n'
    )


def _recorded(client: redis.Redis, replay: Any, script: str, step: Step) -> list[Any]:
    arguments = [_bytes(each) for each in replay.arguments(step)]
    reply = client.eval(script, int(arguments[0]), *arguments[1:])
    sent = [each.hex() for each in arguments]
    return [step.policy["slug"], step.now, step.who, step.cost, sent, reply]


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


if __name__ == "__main__":
    sys.exit(record())  # type: ignore[func-returns-value]
