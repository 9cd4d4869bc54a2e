"""While the store does not answer, each policy decides by its on_error."""

import pytest

from ratelimit_app import limiter, outage, stores
from ratelimit_app.algorithms import Limit
from ratelimit_app.stores import Quota, Unavailable
from ratelimit_app.stores.memory import MemoryStore
from ratelimit_app.testing import override_policies

LIMIT = {"limit": 10, "period": 86_400}


class Down(MemoryStore):
    """A store that answers nothing and last knew of four processes."""

    processes = 4

    def take(self, takes, *, spend=True, until=None):
        raise Unavailable("no answer", "slow")


@pytest.fixture(autouse=True)
def _down():
    stores._stores.clear()
    with stores.pinned(Down()):
        yield


def take(on_error: str, cost: int = 1):
    with override_policies(p={**LIMIT, "on_error": on_error}):
        return limiter.take("p", key="192.0.2.1", cost=cost)


@pytest.mark.parametrize(("on_error", "allowed"), [("open", True), ("closed", False)])
def test_open_lets_through_and_closed_refuses_and_neither_invents_numbers(on_error, allowed):
    decision = take(on_error)
    assert (decision.allowed, decision.remaining, decision.source) == (allowed, None, "error")


@pytest.mark.parametrize("algorithm", ["gcra", "fixed_window", "sliding_window_log"])
def test_local_counts_in_the_process_at_its_share(algorithm):
    with override_policies(p={**LIMIT, "on_error": "local", "algorithm": algorithm}):
        decisions = [limiter.take("p", key="192.0.2.1") for _ in range(5)]
    assert [decision.allowed for decision in decisions] == [True, True, False, False, False]
    assert {(decision.source, decision.limit) for decision in decisions} == {("local", 2)}


def test_a_cost_that_fits_the_whole_fits_the_share():
    assert take("local", cost=5).allowed is True


@pytest.mark.parametrize(
    ("limit", "processes", "part"),
    [(10, 1, 10), (10, 3, 3), (10, 100, 1), (1, 2, 1)],
)
def test_a_share_is_at_least_a_unit(limit, processes, part):
    whole = Quota("p", "gcra", Limit(limit, 1000, limit), "t")
    assert outage.share(whole, processes).limit == Limit(part, 1000, part)


def test_each_kind_of_fault_is_counted():
    before = outage.counts["slow"]
    take("open")
    assert outage.counts["slow"] == before + 1


def test_what_counted_in_an_outage_is_swept_afterwards(monkeypatch):
    with override_policies(p={"limit": 1, "period": 1, "on_error": "local"}):
        limiter.take("p", key="192.0.2.1")
    local = stores.local()
    assert len(local) == 1
    later = local.now() + 2000
    monkeypatch.setattr(local, "now", lambda: later)
    stores.sweep()
    assert len(local) == 0
