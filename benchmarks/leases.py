"""The figures and the picture of docs/speed.md: `python -m benchmarks.leases`.

Trips and errors come from loads whose time is data, so every run gives the same; microseconds are
this machine's: the time that client and Redis together are on a core.
"""

import os
import statistics
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import django
import redis

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
django.setup()

from django.core.cache.backends.redis import RedisCache  # noqa: E402 - needs the settings

from benchmarks import cores  # noqa: E402 - needs the settings
from ratelimit_app.algorithms import Decision, Limit  # noqa: E402
from ratelimit_app.stores import Quota, Store, Take  # noqa: E402
from ratelimit_app.stores.leases import LeaseStore  # noqa: E402
from ratelimit_app.stores.memory import MemoryStore  # noqa: E402
from ratelimit_app.stores.near import NearStore  # noqa: E402
from ratelimit_app.stores.redis import RedisStore  # noqa: E402
from tests.servers import RedisServer  # noqa: E402

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE, PICTURE = DOCS / "speed.md", DOCS / "leases.svg"
BEGIN, END = "<!-- written by python -m benchmarks.leases -->", "<!-- end -->"

SIZES = (1, 10, 100, 1000)
PROCESSES, LIMIT, PERIOD = 3, 10_000, 10_000
CALLS = 4_000
#: Times the limit, one after the other; each for so many requests.
LOADS, EACH, TURN = (0.5, 0.95, 1.0, 1.3, 3.0, 0.2), 5_000, 700
#: A limit that is never near, in ten hours.
FAR = 10_000_000, 36_000_000
WHO = b"one client     "


class Error(NamedTuple):
    """Within any period, in units: the most beyond the exact store, and the most behind it."""

    over: int
    under: int
    trips: float


class Counted:
    """A store that counts how often it is asked."""

    name, processes = "memory", 1

    def __init__(self, store: MemoryStore) -> None:
        self.store, self.asked = store, 0

    def take(
        self, takes: Sequence[Take], *, spend: bool = True, until: float | None = None
    ) -> list[Decision]:
        self.asked += 1
        return self.store.take(takes, spend=spend)


def quota(lease: int, limit: int = LIMIT, period: int = PERIOD) -> Quota:
    return Quota("hot", "gcra", Limit(limit, period, limit), "hot", lease=lease)


def error(lease: int) -> Error:
    """Three processes beside one exact store, on one client at loads around the limit."""
    random, now = Random(1), [1_700_000_000_000]
    exact, shared = MemoryStore(now=lambda: now[0]), Counted(MemoryStore(now=lambda: now[0]))
    processes = [_process(shared, now) for _ in range(PROCESSES)]
    take, difference, over, under = [Take(quota(lease), WHO)], 0, 0, 0
    # The least and the most of the difference within the last period, each at its front.
    low: deque[tuple[int, int]] = deque()
    high: deque[tuple[int, int]] = deque()
    time = float(now[0])
    for step in range(EACH * len(LOADS)):
        time += random.expovariate(LOADS[step // EACH] * LIMIT / PERIOD)
        now[0] = int(time)
        _note(low, now[0], difference, 1)
        _note(high, now[0], difference, -1)
        # A client's connections keep it at one process for a while.
        at = step // TURN % PROCESSES if random.random() < 0.9 else random.randrange(PROCESSES)
        allowed = processes[at].take(take)[0].allowed
        difference += allowed - exact.take(take)[0].allowed
        over, under = max(over, difference - low[0][1]), max(under, high[0][1] - difference)
    return Error(over, under, shared.asked / (EACH * len(LOADS)))


def _process(shared: Counted, now: list[int]) -> Store:
    def nanoseconds() -> int:
        return now[0] * 1_000_000

    return LeaseStore(NearStore(shared, nanoseconds), 1.0, nanoseconds)  # type: ignore[arg-type]


def _note(least: deque[tuple[int, int]], now: int, value: int, sign: int) -> None:
    while least and sign * least[-1][1] >= sign * value:
        least.pop()
    least.append((now, value))
    while least[0][0] < now - PERIOD:
        least.popleft()


def microseconds() -> dict[int, tuple[float, float]]:
    """Of each size: microseconds of one core a decision, and commands a request, on a hot key."""
    server = RedisServer()
    try:
        # Across two cores a trip costs twice as much, and every lease looks twice as good.
        with cores.pinned(server.pid, apart=False):
            return _measured(server)
    finally:
        server.stop()


def _measured(server: RedisServer) -> dict[int, tuple[float, float]]:
    store = RedisStore(RedisCache(server.url, {}), 5.0)
    leases = LeaseStore(NearStore(store), 5.0)
    asked = {size: [Take(quota(size, *FAR), b"%015d" % size)] for size in SIZES}
    raw, found, commands = server.client(), {}, {}
    for size in (0, *SIZES):
        taking = leases if size else store
        take = asked[size or 1]
        taking.take(take)
        rounds, before = [], _evalsha(raw)
        for _ in range(5):
            began = _cpu(raw)
            for _ in range(CALLS):
                taking.take(take)
            rounds.append((_cpu(raw) - began) / CALLS * 1e6)
        found[size] = statistics.median(rounds)
        commands[size] = (_evalsha(raw) - before) / (5 * CALLS)
    print(f"the Redis store alone: {found[0]:.1f} µs")
    for size in SIZES:
        print(f"lease {size}: {found[0] / found[size]:.1f} × its decisions a second")
    return {size: (found[size], commands[size]) for size in SIZES}


def _cpu(raw: redis.Redis) -> float:
    """Seconds that this process and Redis were on a core, whatever else the machine does."""
    theirs = raw.info("cpu")
    return float(time.process_time() + theirs["used_cpu_sys"] + theirs["used_cpu_user"])


def _evalsha(raw: redis.Redis) -> int:
    return int(raw.info("commandstats").get("cmdstat_evalsha", {"calls": 0})["calls"])


def table(times: dict[int, tuple[float, float]], errors: dict[int, Error]) -> str:
    lines = [
        "| lease | µs of a core a decision | commands a request | commands around the limit "
        "| most beyond | most behind | stated: at most |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for size in SIZES:
        found = errors[size]
        bound = PROCESSES * size if size > 1 else 0
        lines.append(
            f"| {size:,} | {times[size][0]:.2f} | {times[size][1]:.3f} | {found.trips:.3f} "
            f"| {found.over} | {found.under} | {bound:,} |"
        )
    return "\n".join(lines)


def draw(errors: dict[int, Error]) -> str:
    """Commands a request and the worst error of each size, as bars."""
    return "\n".join(
        [
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 230" '
            'font-family="sans-serif" font-size="13" role="img" '
            'aria-label="Commands a request and error, by the size of the lease">',
            '<rect width="760" height="230" fill="#fff"/>',
            f'<text x="10" y="24" font-size="15">{PROCESSES} processes, one client, loads from 0.2 '
            f"to 3 times a limit of {LIMIT:,} per {PERIOD // 1000} s</text>",
            '<text x="100" y="52">commands a request</text>',
            '<text x="430" y="52">worst error in any period, % of the limit</text>',
            *(line for row, size in enumerate(SIZES) for line in _row(row, size, errors[size])),
            "</svg>\n",
        ]
    )


def _row(row: int, size: int, found: Error) -> Iterator[str]:
    y = 66 + 38 * row
    worst = 100 * max(found.over, found.under) / LIMIT
    bound = 100 * PROCESSES * size / LIMIT if size > 1 else 0
    yield f'<text x="10" y="{y + 17}">lease {size:,}</text>'
    for left, length, most, label, fill in (
        (100, found.trips, 1, f"{found.trips:.3f}", "#1a6e4a"),
        (430, worst, 30, f"{worst:.2f} of {bound:.1f} stated", "#a33d1f"),
    ):
        width = round(200 * length / most, 1)
        yield f'<rect x="{left}" y="{y}" width="{max(width, 1)}" height="24" fill="{fill}"/>'
        yield f'<text x="{left + max(width, 1) + 6}" y="{y + 17}">{label}</text>'


def main() -> None:
    times = microseconds()
    errors = {size: error(size) for size in SIZES}
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    written = table(times, errors)
    print(written)
    PAGE.write_text(f"{before}{BEGIN}\n{written}\n{END}{after}")
    PICTURE.write_text(draw(errors))


if __name__ == "__main__":
    main()
