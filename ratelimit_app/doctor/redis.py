"""Questions to Redis. Each is one command; without an answer to one, no other is asked."""

import statistics
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from redis.exceptions import NoPermissionError

from ratelimit_app.algorithms import ALGORITHMS, Limit
from ratelimit_app.conf import conf
from ratelimit_app.digests import digest, tag
from ratelimit_app.stores import Quota, Take, Unavailable
from ratelimit_app.stores.base import text
from ratelimit_app.stores.faults import ANSWERED, FIXES
from ratelimit_app.stores.redis import RedisStore

from .findings import Finding, Level, sentence
from .server import of_server
from .state import of_state

_PINGS = 5
#: The third unit makes the ring of a log grow, the fourth is written in place.
_PROBED = Limit(4, 1000, 4)
#: Seconds that the two clocks may be apart before people notice.
_APART = 1.0


def of_redis(store: RedisStore) -> Iterator[Finding]:
    """All questions, in the order in which an answer is worth something."""
    steps: tuple[Callable[[RedisStore], Iterator[Finding]], ...]
    steps = (_reach, _clock, of_server, of_state, _script)
    for step in steps:
        try:
            yield from step(store)
        except Unavailable as error:
            if error.kind == "breaker":
                # What is said of the breaker says it.
                return
            # An ACL may forbid a question, and allow all that the limiter needs.
            is_forbidden = isinstance(error.__cause__, NoPermissionError) and step is not _script
            yield _fault(store, error, "warning" if is_forbidden else "error")
            if not is_forbidden and (step is _reach or error.kind not in ANSWERED):
                return


def _fault(store: RedisStore, error: Unavailable, level: Level) -> Finding:
    reason = error.__cause__
    why = str(error) if reason is None else f"{type(reason).__name__}: {reason}"
    return Finding("Redis", level, f"{_where(store)}: {why}", sentence(FIXES[error.kind]))


def _where(store: RedisStore) -> str:
    """Host, port and database: of all that leads there no more, since the rest lets people in."""
    pool = store.clients.sync.connection_pool
    given = pool.connection_kwargs
    host = f"{given.get('host')}:{given.get('port')}"
    place = given.get("path") or getattr(pool, "service_name", host)
    return f"{place}/{given.get('db') or 0}"


def _reach(store: RedisStore) -> Iterator[Finding]:
    took = []
    for _ in range(_PINGS):
        started = time.perf_counter()
        answer = store.question("PING")
        took.append(time.perf_counter() - started)
        if answer not in (b"PONG", "PONG"):
            raise Unavailable(f"what answers is no Redis: {answer!r:.40}", "reply")
    # The first one has connected.
    worst, median = max(took[1:]), statistics.median(took[1:])
    found = f"{_where(store)} answers in {_ms(median)} (the slowest of four: {_ms(worst)})"
    if 2 * worst < conf().timeout:
        yield Finding("Redis", "ok", found)
        return
    yield Finding(
        "Redis",
        "warning",
        f"{found}, and is given up after {_ms(conf().timeout)}",
        "Look at its load and at the network (redis-cli --latency, SLOWLOG GET), or raise "
        "RATELIMIT['TIMEOUT'].",
    )


def _clock(store: RedisStore) -> Iterator[Finding]:
    before = time.time()
    answer = store.question("TIME")
    after = time.time()
    try:
        theirs = int(answer[0]) + int(answer[1]) / 1_000_000
    except (TypeError, ValueError, IndexError, KeyError):
        raise Unavailable(f"no answer to TIME: {answer!r:.40}", "reply") from None
    offset, unsure = theirs - (before + after) / 2, (after - before) / 2
    found = f"{offset:+.3f} s against this host (±{unsure:.3f} s)"
    if abs(offset) - unsure <= _APART:
        yield Finding("clock of Redis", "ok", found)
        return
    yield Finding(
        "clock of Redis",
        "warning",
        f"{found}; buckets go by Redis's, so that logs of this host tell other times",
        "Let both hosts keep time by NTP.",
    )


def _script(store: RedisStore) -> Iterator[Finding]:
    """Runs it as requests do: a few units of each algorithm, in buckets that nobody else has."""
    identity = digest(("doctor", uuid.uuid4().hex))
    takes = [
        Take(Quota("doctor", name, _PROBED, text(tag("doctor", name))), identity)
        for name in ALGORITHMS
    ]
    if not all(each.allowed for each in store.take(takes)):
        raise Unavailable("a fresh bucket refused its first unit", "reply")
    # Then until they refuse, so that every command of the script has been called.
    for _ in range(_PROBED.burst):
        store.take(takes)
    if _knows(store, store.taking.sha):
        yield Finding("script", "ok", f"runs, and Redis keeps it ({store.taking.sha[:8]})")
        return
    yield Finding(
        "script",
        "warning",
        "runs, and Redis does not keep it: every decision sends it anew, "
        f"{len(store.taking.text) // 1000} kB",
        "See what runs SCRIPT FLUSH, or which proxy stands before Redis.",
    )


def _knows(store: RedisStore, sha: str) -> bool:
    try:
        answer: Any = store.question("SCRIPT", "EXISTS", sha)
    except Unavailable as error:
        if error.kind != "denied":
            raise
        # Then EVALSHA alone can tell: without the script it fails with NOSCRIPT.
        return True
    return bool(answer == [1])


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms"
