"""Since when the state in Redis is there: a key that only a loss of everything takes away."""

from collections.abc import Iterator
from datetime import datetime, timezone

from ratelimit_app.stores import Unavailable
from ratelimit_app.stores.redis import RedisStore
from ratelimit_app.stores.script import FORMAT

from .findings import Finding

#: What this process has seen, by the key: microseconds since the epoch, by Redis's clock.
_seen: dict[str, int] = {}


def of_state(store: RedisStore) -> Iterator[Finding]:
    """FLUSHDB, eviction, a restart without persistence and a lossy failover all take the key."""
    key = store.key(f"{FORMAT}:since")
    seconds, microseconds = map(int, store.question("TIME"))
    now = 1_000_000 * seconds + microseconds
    store.question("SET", key, now, "NX")
    try:
        since = int(store.question("GET", key))
    except (TypeError, ValueError):
        raise Unavailable(f"{key} holds something else", "reply") from None
    before = _seen.setdefault(key, since)
    _seen[key] = since
    if before != since:
        yield Finding(
            "state",
            "warning",
            f"was lost: this process has seen it from {_moment(before)}, and it is there since "
            f"{_moment(since)}",
            "Find what ran FLUSHDB (cache.clear() does), evicted keys, or restarted Redis.",
        )
    elif since == now:
        yield Finding("state", "ok", "this is the first look, or the first one since it was lost")
    else:
        yield Finding("state", "ok", f"not lost since {_moment(since)}, the first look")


def _moment(microseconds: int) -> str:
    moment = datetime.fromtimestamp(microseconds // 1_000_000, timezone.utc)
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
