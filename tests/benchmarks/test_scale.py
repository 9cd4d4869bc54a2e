"""The simulation keeps the promises of what it simulates."""

from collections import Counter

import pytest

from benchmarks.scale.model import (
    Network,
    Request,
    arrivals,
    busiest,
    nodes_needed,
    percentile,
    simulate,
)
from ratelimit_app.algorithms import Limit

NOWHERE = Network(way=0.0, service=0.0)
DAILY = Limit(100, 86_400_000, 100)


def test_exact_admits_the_limit_and_asks_every_time() -> None:
    requests = [Request(0.0, number % 3, 0) for number in range(250)]
    found = simulate(requests, DAILY, NOWHERE, 1)
    assert (found.admitted.total(), found.trips.total()) == (100, 250)


def test_a_denial_is_believed_for_a_second() -> None:
    requests = [Request(10.0 * number, 0, 0) for number in range(301)]
    found = simulate(requests, Limit(1, 86_400_000, 1), NOWHERE, 1, near=True)
    # Asked at 0 (admitted) and 10 (refused), and then once a second: 1,010 and 2,010.
    assert (found.admitted.total(), found.trips.total()) == (1, 4)


def test_near_denials_admit_what_the_exact_store_does() -> None:
    requests = arrivals(50, 5_000, 4, 2.0, 1.0)
    limit = Limit(5, 1000, 5)
    exact = simulate(requests, limit, NOWHERE, 1)
    near = simulate(requests, limit, NOWHERE, 1, near=True)
    assert near.admitted == exact.admitted
    assert near.trips.total() < exact.trips.total()


def test_a_lease_is_one_trip_for_its_units() -> None:
    requests = [Request(0.0, 0, 0) for _ in range(50)]
    found = simulate(requests, DAILY, NOWHERE, 1, lease=10)
    assert (found.admitted.total(), found.trips.total()) == (50, 5)


@pytest.mark.parametrize("lease", [10, 100])
def test_leases_never_admit_more_than_the_limit(lease: int) -> None:
    requests = arrivals(20, 20_000, 4, 1.0, 1.0)
    limit = Limit(1000, 86_400_000, 1000)
    found = simulate(requests, limit, Network(0.125, 0.01), 1, near=True, lease=lease)
    assert max(found.admitted.values()) <= 1000


def test_calls_queue_at_a_node_that_is_busy() -> None:
    requests = [Request(0.0, 0, 0), Request(0.0, 1, 0)]
    assert simulate(requests, DAILY, Network(1.0, 0.5), 1).waits == [2.5, 3.0]


def test_nodes_are_as_many_as_the_busiest_allows() -> None:
    trips = Counter(dict.fromkeys(range(1000), 10))
    nodes = nodes_needed(trips, 2.0)
    assert nodes is not None
    assert busiest(trips, nodes, 2.0) <= 0.7 < busiest(trips, nodes - 1, 2.0)


def test_no_cluster_parts_the_load_of_one_key() -> None:
    assert nodes_needed(Counter({0: 90, 1: 10}), 1.0) is None


def test_percentiles() -> None:
    assert percentile([float(number) for number in range(1001)], 99.9) == 999.0
