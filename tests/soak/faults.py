"""What may happen to Redis, to the way there, and to the policies: one thing at a time."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

import redis

from tests.chaos.proxy import Mode, Proxy
from tests.live.processes import Editor
from tests.servers import RedisServer
from tests.time.shifted import Clock

from .judge import Judge, Loss
from .policies import EDITED


@dataclass
class Trouble:
    """What can be broken, and who has to be told of it."""

    server: RedisServer
    proxy: Proxy
    clock: Clock
    editor: Editor
    judge: Judge
    chance: random.Random
    ahead: float = 0.0
    edits: int = 0

    def client(self) -> redis.Redis:
        return self.server.client()


def kill(trouble: Trouble) -> None:
    """Everything in Redis is lost."""
    began = time.monotonic()
    with trouble.judge.outage():
        trouble.server.kill()
        time.sleep(trouble.chance.uniform(1, 5))
        trouble.server.start()
    trouble.judge.lost(Loss(began, time.monotonic(), trouble.ahead))


def stop(trouble: Trouble) -> None:
    """Redis hangs."""
    with trouble.judge.outage():
        trouble.server.pause()
        time.sleep(trouble.chance.uniform(1, 5))
        trouble.server.resume()


def delay(trouble: Trouble) -> None:
    """Answers are slow, some of them too slow."""
    _on_the_way(trouble, "delay", trouble.chance.uniform(0.03, 0.3))


def lose_replies(trouble: Trouble) -> None:
    """Commands arrive, and their answers do not."""
    _on_the_way(trouble, "drop_reply", 0)


def reset(trouble: Trouble) -> None:
    """Connections break as soon as they are used."""
    _on_the_way(trouble, "reset", 0)


def blackhole(trouble: Trouble) -> None:
    """Nothing arrives anywhere."""
    _on_the_way(trouble, "blackhole", 0)


def flush_scripts(trouble: Trouble) -> None:
    """A hundred times a second; nobody may notice."""
    client = trouble.client()
    for _ in range(300):
        client.script_flush()
        time.sleep(0.01)


def flush_all(trouble: Trouble) -> None:
    """As `cache.clear()` would do it."""
    began = time.monotonic()
    trouble.client().flushall()
    trouble.judge.lost(Loss(began, time.monotonic(), trouble.ahead))


def shift_clock(trouble: Trouble) -> None:
    """Redis's clock steps, forward or back, by up to an hour."""
    began = time.monotonic()
    ahead = trouble.chance.choice((-3600.0, -30.0, 0.0, 30.0, 3600.0))
    trouble.clock.run(round(1000 * ahead))
    trouble.ahead = ahead
    trouble.judge.lost(Loss(began, time.monotonic() + 0.1, ahead))


def edit(trouble: Trouble) -> None:
    """A limit is lowered, or raised again."""
    trouble.edits += 1
    limit = EDITED[(trouble.edits + 1) % 2]
    code = f"Policy.objects.filter(slug='edited').update(limit={limit})"
    committed = trouble.editor.run(code)
    # Who has spent more than the new capacity is as if he had spent all of it, and no more.
    trouble.judge.lost(Loss(trouble.editor.began, committed + 1, trouble.ahead, "edited"))
    trouble.judge.edited(committed, limit)


FAULTS: tuple[Callable[[Trouble], None], ...] = (
    *(kill, stop, delay, lose_replies, reset, blackhole),
    *(flush_scripts, flush_all, shift_clock, edit),
)


def _on_the_way(trouble: Trouble, mode: Mode, seconds: float) -> None:
    with trouble.judge.outage():
        trouble.proxy.delay = seconds
        trouble.proxy.mode = mode
        time.sleep(trouble.chance.uniform(2, 5))
        trouble.proxy.mode = "pass"
