"""What stands beside latency: does it count right, is its wait true, does the client hear of it?"""

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from benchmarks import ours, peers
from benchmarks.peers import Place, Taker, Told
from benchmarks.policies import Rate
from benchmarks.requests import OURS, Site, behind, through
from ratelimit_app import limiter
from ratelimit_app.algorithms import Decision

THREADS, EACH, LIMIT, TIMES = 32, 8, 100, 3

#: Against the threads: nothing comes back within the run. For the wait: one a second.
CROWD, PATIENCE = Rate(LIMIT, 86_400), Rate(1, 1)


class Line(NamedTuple):
    """Of one library in one place. `said` and `true`: seconds of the wait after a refusal."""

    name: str
    where: str
    algorithm: str
    #: Of each time: how many were admitted, and how many calls raised instead of answering.
    crowds: tuple[tuple[int, int], ...]
    said: float | None
    true: float
    admission: str
    refusal: str


def crowd(take: Taker, told: Callable[[Any], Told], key: str) -> tuple[int, int]:
    """How many of 256 calls are admitted at a limit of 100, from 32 threads at once, or raise."""
    start, admitted, raised = threading.Barrier(THREADS), list[bool](), list[Exception]()

    def call() -> None:
        start.wait()
        for _ in range(EACH):
            try:
                admitted.append(told(take(key)).admitted)
            except Exception as error:
                raised.append(error)

    threads = [threading.Thread(target=call) for _ in range(THREADS)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    try:
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    finally:
        sys.setswitchinterval(before)
    return sum(admitted), len(raised)


def patience(take: Taker, told: Callable[[Any], Told]) -> tuple[float | None, float]:
    """The wait that a refusal names, and the one that it was."""
    while (first := told(take("patience"))).admitted:
        pass
    refused = time.monotonic()
    while not told(take("patience")).admitted:
        time.sleep(0.002)
    return first.wait, time.monotonic() - refused


def headers(site: Site) -> tuple[str, str]:
    """What a client is told when it is admitted, and when it is refused."""
    heard = []
    for _ in range(2):
        response = site()
        limits = [name for name in response.headers if "ratelimit" in name.lower()]
        waits = ["Retry-After"] if "Retry-After" in response.headers else []
        heard.append(f"{response.status_code} " + (", ".join(limits + waits) or "nothing"))
    return heard[0], heard[1]


def lines(url: str, found: Mapping[str, peers.Peer]) -> Iterator[Line]:
    for where in ("memory", "redis"):
        place = Place(where, url)
        yield _ours(place)
        for name, peer in found.items():
            if where in peer.places:
                line = peers.attempt(name, partial(_line, name, peer, place))
                if line is not None:
                    yield line


def _line(name: str, peer: peers.Peer, place: Place) -> Line:
    take = peer.taker(place, CROWD)
    crowds = tuple(crowd(take, peer.told, f"crowd{turn}") for turn in range(TIMES))
    waits = patience(peer.taker(place, PATIENCE), peer.told)
    door = peer.door(place, Rate(1, 86_400))
    heard = headers(through(door)) if door else ("no door", "no door")
    return Line(name, place.where, peer.algorithm, crowds, *waits, *heard)


def _ours(place: Place) -> Line:
    with ours.limited_by(place.where):

        def take(key: str) -> Decision:
            return limiter.take("crowd", key=key)

        def told(answer: Decision) -> Told:
            return Told(answer.allowed, answer.retry_after)

        crowds = tuple(crowd(take, told, f"crowd{turn}") for turn in range(TIMES))
        waits = patience(lambda _: limiter.take("patience", key="patience"), told)
        heard = headers(behind(OURS, where="once"))
    return Line("ours", place.where, "GCRA", crowds, *waits, *heard)


def table(found: list[Line]) -> str:
    rows = [
        "| | in | by | admitted of 256 at a limit of 100 | wait said | true "
        "| headers, admitted | refused |",
        "| :-- | :-- | :-- | --: | --: | --: | :-- | :-- |",
    ]
    for line in found:
        low, high = min(line.crowds)[0], max(line.crowds)[0]
        crowd = str(low) if low == high else f"{low} to {high}"
        if failed := sum(raised for _, raised in line.crowds):
            crowd += f"; {failed} of {256 * TIMES} calls raised"
        said = "none" if line.said is None else f"{line.said:.2f} s"
        cells = [line.name, line.where, line.algorithm, crowd, said, f"{line.true:.2f} s"]
        rows.append("| " + " | ".join([*cells, line.admission, line.refusal]) + " |")
    return "\n".join(rows)
