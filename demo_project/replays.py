"""Two sections in which time is data: a burst across a window's edge, and a day's access log."""

from pathlib import Path

from demo_project.report import Report
from ratelimit_app import traces
from ratelimit_app.algorithms import ALGORITHMS, Limit
from ratelimit_app.digests import digest
from ratelimit_app.stores import Quota, Take
from ratelimit_app.stores.memory import MemoryStore

LOG = Path(__file__).parent / "data" / "access.log.gz"

#: How many of the log's requests each algorithm admits at 10 in 30 s.
ADMITTED = {
    "fixed_window": 9039,
    "sliding_window_log": 8988,
    "sliding_window_counter": 8981,
    "token_bucket": 9478,
    "leaky_bucket": 9478,
    "gcra": 9478,
}


class Replay:
    """One algorithm on a memory store whose clock stands where the last request was."""

    def __init__(self, algorithm: str, limit: int, period: int) -> None:
        self._now = 0
        self._store = MemoryStore(most=1_000_000, now=lambda: self._now)
        self._quota = Quota("replay", algorithm, Limit(limit, period * 1000, limit), "replay")

    def admits(self, t: int, key: str, cost: int = 1) -> bool:
        """Whether a request at `t`, in milliseconds, is admitted."""
        self._now = t
        (decision,) = self._store.take([Take(self._quota, digest(("ip", key)), cost)])
        return decision.allowed


def boundary(report: Report) -> None:
    report.section("100 requests just before a window's edge, 100 just after; limit 100 in 60 s")
    report.heads("", "59.999 s", "60.000 s")
    for algorithm in ALGORITHMS:
        replay = Replay(algorithm, limit=100, period=60)
        before = sum(replay.admits(59_999, "client") for _ in range(100))
        after = sum(replay.admits(60_000, "client") for _ in range(100))
        promised = 100 if algorithm == "fixed_window" else 0
        report.row(algorithm, before, after, promised=(100, promised))
    report.say()
    report.say("A fixed window forgets at its edge: 200 within two milliseconds.")


def access_log(report: Report) -> None:
    with LOG.open("rb") as file:
        hits = traces.read(file).hits
    clients = len({hit.key for hit in hits})
    report.section(
        f"A real access log: {len(hits):,} requests of {clients:,} clients; 10 in 30 s each"
    )
    report.heads("", "admitted", "refused")
    for algorithm in ALGORITHMS:
        replay = Replay(algorithm, limit=10, period=30)
        admitted = sum(replay.admits(hit.t, hit.key, hit.cost) for hit in hits)
        promised = ADMITTED[algorithm]
        numbers = (admitted, len(hits) - admitted)
        report.row(algorithm, *numbers, promised=(promised, len(hits) - promised))
