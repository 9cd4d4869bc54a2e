"""The rows of the table, by the name that `ONLY=` takes."""

from . import in_process, over_redis, whole
from .base import Bench, Contender, Goal, Maker, Result, Row

ROWS: dict[str, Maker] = {
    "decision": in_process.decision,
    "refusal": in_process.refusal,
    "keys": in_process.keys,
    "redis": over_redis.decision,
    "redis-refusal": over_redis.refusal,
    "request": whole.memory,
    "request-redis": whole.over_redis,
    "refusal-redis": whole.refusal,
    "table": whole.among,
    "async": over_redis.asynchronous,
}

#: Those that wait for Redis: there it matters which core Redis has.
WAITING = ("redis", "redis-refusal", "request-redis", "refusal-redis", "async")

__all__ = ["ROWS", "WAITING", "Bench", "Contender", "Goal", "Maker", "Result", "Row"]
