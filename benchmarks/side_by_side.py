"""The figures and the picture of docs/algorithms.md: `python -m benchmarks.side_by_side`.

Nothing here is timed, so every run gives the same figures, and a test compares them with the page.
"""

import os
import sys
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
django.setup()

from django.core.cache.backends.redis import RedisCache  # noqa: E402 - needs the settings

from benchmarks.picture import draw  # noqa: E402
from ratelimit_app import traces  # noqa: E402
from ratelimit_app.algorithms import ALGORITHMS, Decision, Limit  # noqa: E402
from ratelimit_app.stores import Quota, Take  # noqa: E402
from ratelimit_app.stores.memory import MemoryStore  # noqa: E402
from ratelimit_app.stores.traced import TraceRedisStore  # noqa: E402
from tests.servers import RedisServer  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
PAGE, PICTURE = ROOT / "docs" / "algorithms.md", ROOT / "docs" / "algorithms.svg"
LOG = ROOT / "tests" / "data" / "access.log.gz"
BEGIN = "<!-- written by python -m benchmarks.side_by_side -->"
END = "<!-- end -->"

WHO = b"one client     "
START = 1_772_359_200_000


class Bucket:
    """Takes of one algorithm, at times of ours, on memory or on Redis."""

    def __init__(self, name: str, limit: int, period: int, store: TraceRedisStore | None = None):
        self.quota = Quota(name, name, Limit(limit, period, limit), f"{name:.12}")
        self.now = START
        self.memory = MemoryStore(now=lambda: self.now)
        self.store = store or self.memory

    def take(self, now: int, who: bytes = WHO) -> Decision:
        self.now = now
        if isinstance(self.store, TraceRedisStore):
            self.store.now = now
        return self.store.take([Take(self.quota, who)])[0]


def boundary(name: str) -> int:
    """Admitted of 100 just before a minute's end and 100 just after it, at 100 a minute."""
    bucket = Bucket(name, 100, 60_000)
    times = [START + 59_999] * 100 + [START + 60_000] * 100
    return sum(bucket.take(now).allowed for now in times)


def log_hits() -> list[tuple[int, bytes]]:
    """The real log, without the 59 minutes of each hour that its sample left out."""
    with traces.open_trace(str(LOG)) as source:
        trace = traces.read(source)
    clients: dict[str, bytes] = {}
    hits = []
    for hit in trace.hits:
        who = clients.setdefault(hit.key, len(clients).to_bytes(15, "little"))
        hours, inside = divmod(hit.t, 3_600_000)
        hits.append((hours * 60_000 + inside % 60_000, who))
    return hits


def over_log(name: str, hits: Sequence[tuple[int, bytes]], limit: int, period: int) -> list[bool]:
    bucket = Bucket(name, limit, period)
    return [bucket.take(now, who).allowed for now, who in hits]


def peak(hits: Sequence[tuple[int, bytes]], admitted: Sequence[bool], period: int) -> int:
    """The most that one client got within any period."""
    recent: defaultdict[bytes, deque[int]] = defaultdict(deque)
    most = 0
    for (now, who), allowed in zip(hits, admitted, strict=True):
        times = recent[who]
        while times and times[0] <= now - period:
            times.popleft()
        if allowed:
            times.append(now)
        most = max(most, len(times))
    return most


def drained(name: str, store: TraceRedisStore | None, limit: int) -> Bucket:
    """A bucket that has just admitted all it could, each unit in a millisecond of its own."""
    bucket = Bucket(name, limit, 86_400_000, store)
    for step in range(limit):
        bucket.take(START + step)
    return bucket


def bytes_in_redis(name: str, store: TraceRedisStore, limit: int) -> int:
    store.clients.sync.flushdb()
    bucket = drained(name, store, limit)
    key = store.bucket(Take(bucket.quota, WHO))
    assert store.clients.sync.dbsize() == 1
    return int(store.clients.sync.memory_usage(key, samples=0) or 0)


def bytes_in_memory(name: str, limit: int) -> int:
    """State and digest; the dict that holds them takes some 50 bytes more."""
    bucket = drained(name, None, limit)
    (table,) = [
        table for shard in bucket.memory._shards for table in shard.tables.values() if table.states
    ]
    ((digest, state),) = table.states.items()
    parts = state if isinstance(state, tuple) else ()
    return sum(map(sys.getsizeof, [digest, state, *parts]))


def calls(name: str, store: TraceRedisStore, limit: int) -> int:
    """Redis commands inside the script for an admission, the bucket half full."""
    store.clients.sync.flushdb()
    bucket = Bucket(name, limit, 86_400_000, store)
    for step in range(limit // 2):
        bucket.take(START + step)
    before = _calls(store)
    bucket.take(START + limit)
    return _calls(store) - before


def _calls(store: TraceRedisStore) -> int:
    stats = store.clients.sync.info("commandstats")
    inside = ("get", "set", "getrange", "setrange", "pexpire", "pttl", "time")
    return sum(int(stats.get(f"cmdstat_{name}", {"calls": 0})["calls"]) for name in inside)


def rows(store: TraceRedisStore) -> Iterator[list[object]]:
    hits = log_hits()
    exact = over_log("sliding_window_log", hits, 10, 30_000)
    for name in ALGORITHMS:
        admitted = over_log(name, hits, 10, 30_000)
        differing = sum(one != other for one, other in zip(admitted, exact, strict=True))
        yield [
            f"`{name}`",
            boundary(name),
            sum(admitted),
            peak(hits, admitted, 30_000),
            f"{100 * differing / len(hits):.2f} %",
            " / ".join(f"{bytes_in_redis(name, store, limit):,}" for limit in (10, 100, 1000)),
            " / ".join(f"{bytes_in_memory(name, limit):,}" for limit in (10, 100, 1000)),
            f"{calls(name, store, 10)} / {calls(name, store, 10_000)}",
        ]


def table() -> str:
    """The table of the page, in Markdown."""
    head = [
        "algorithm",
        "200 around a boundary",
        "admitted of 10,000",
        "most in any 30 s",
        "unlike the exact log",
        "bytes in Redis",
        "bytes in memory",
        "commands in the script",
    ]
    server = RedisServer()
    try:
        store = TraceRedisStore(RedisCache(server.url, {}), timeout=5)
        lines: list[list[object]] = [[*head], ["---"] * len(head), *rows(store)]
        store.close()
    finally:
        server.stop()
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def main() -> None:
    before, rest = PAGE.read_text().split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table()}\n{END}{after}")
    PICTURE.write_text(draw())
    print(f"Written: {PAGE.relative_to(ROOT)}, {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
