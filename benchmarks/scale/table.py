"""50,000 keys and 100,000 decisions a second over ten gateways: what each way of asking takes."""

from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.policies import Rate
from tests.servers import RedisServer

from . import measured
from .model import Network, Outcome, Request, arrivals, busiest, nodes_needed, percentile, simulate

KEYS, RATE, GATEWAYS, SECONDS = 50_000, 100_000, 10, 2.0
#: The usual distance within one data centre: a quarter of a millisecond there and back.
WAY = 0.125

#: A few heavy keys and a long tail, as the web has it; and all keys alike.
SKEWS = {"Zipf": 1.0, "even": 0.0}
POLICIES = {"5 a second": Rate(5, 1), "1,000 a second": Rate(1000, 1)}
#: Where no number of nodes is enough, since one key alone is too much for any.
MANY = 32
SHOWN = (("Zipf", "5 a second"), ("Zipf", "1,000 a second"), ("even", "1,000 a second"))
MODES: dict[str, dict[str, int]] = {
    "exact": {},
    "near denials": {"near": 1},
    "near denials, lease 10": {"near": 1, "lease": 10},
    "near denials, lease 100": {"near": 1, "lease": 100},
}

#: What this machine can be asked for real: one gateway, a fiftieth of the load.
SMALL_KEYS, SMALL_RATE, SMALL_SECONDS = 1_000, 1_000, 3.0


class Line(NamedTuple):
    """Of one way of asking. `busy`: of one node; `most`: of the busiest of `nodes`; waits in ms.

    `error`: of what the exact store would have admitted, how much more or less (0.01 is 1 %).
    """

    skew: str
    policy: str
    mode: str
    refused: float
    trips: float
    busy: float
    nodes: int | None
    most: float
    p50: float
    p99: float
    error: float


def lines(service: float) -> Iterator[Line]:
    for skew, policy in SHOWN:
        requests, rate = arrivals(KEYS, RATE, GATEWAYS, SECONDS, SKEWS[skew]), POLICIES[policy]
        # What would be admitted if nothing took any time.
        truth = simulate(requests, rate.numbers, Network(0.0, 0.0), 1)
        for mode in MODES:
            yield _line(skew, policy, mode, requests, rate, service, truth)


def _line(
    skew: str,
    policy: str,
    mode: str,
    requests: list[Request],
    rate: Rate,
    service: float,
    truth: Outcome,
) -> Line:
    options, network = MODES[mode], Network(WAY, service)
    near, lease = bool(options.get("near")), options.get("lease", 1)
    # How many trips there are hardly depends on how many nodes share them.
    first = simulate(requests, rate.numbers, Network(WAY, 0.0), 1, near, lease)
    busy = first.trips.total() / SECONDS * service / 1000
    nodes = nodes_needed(first.trips, busy)
    shared = nodes or MANY
    found = simulate(requests, rate.numbers, network, shared, near, lease)
    trips, admitted = found.trips.total(), found.admitted.total()
    return Line(
        skew,
        policy,
        mode,
        1 - admitted / len(requests),
        trips / SECONDS,
        busy,
        nodes,
        busiest(found.trips, shared, trips / SECONDS * service / 1000),
        percentile(found.waits, 50),
        percentile(found.waits, 99),
        admitted / truth.admitted.total() - 1,
    )


def table(found: list[Line]) -> str:
    rows = [
        "| keys | limit | asked | refused | trips a second | of one Redis | nodes | busiest "
        "| p50 ms | p99 ms | admitted, against exact |",
        "| :-- | :-- | :-- | --: | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for line in found:
        cells = [line.skew, line.policy, line.mode, f"{line.refused:.0%}", f"{line.trips:,.0f}"]
        cells += [f"{line.busy:.0%}", str(line.nodes or "one key is too much"), f"{line.most:.0%}"]
        cells += [f"{line.p50:.2f}", f"{line.p99:.2f}", f"{line.error:+.2%}"]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def check(server: RedisServer, service: float) -> str:
    """The same requests simulated and for real, at a size that fits here."""
    requests = arrivals(SMALL_KEYS, SMALL_RATE, 1, SMALL_SECONDS, 1.0, seed=2)
    rate = POLICIES["5 a second"]
    network = Network(0.02, service)
    model = simulate(requests, rate.numbers, network, 1, near=True)
    seen = measured.run(server, requests, rate)
    modelled = model.trips.total() * service / 1000
    rows = [
        "| | simulated | measured |",
        "| :-- | --: | --: |",
        f"| admitted of {len(requests):,} | {model.admitted.total():,} | {seen.admitted:,} |",
        f"| trips | {model.trips.total():,} | {seen.trips:,} |",
        f"| Redis's time, s | {modelled:.3f} | {seen.cpu:.3f} |",
        f"| took, s | {SMALL_SECONDS:.2f} | {seen.seconds:.2f} |",
    ]
    return "\n".join(rows)
