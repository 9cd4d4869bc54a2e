"""`limiter.refund`: what was taken for nothing is given back, by hand."""

import asyncio

import pytest

from ratelimit_app import limiter, stores
from ratelimit_app.conformance.subject import every_algorithm
from ratelimit_app.stores import Unavailable
from ratelimit_app.stores.memory import MemoryStore
from ratelimit_app.testing import moving_clock, override_policies

TEN = {"limit": 10, "period": 3600}
CLIENT = "192.0.2.1"


def aloud(slug: str, *, key: object = "", cost: int = 1) -> None:
    asyncio.run(limiter.arefund(slug, key=key, cost=cost))


either = pytest.mark.parametrize("refund", [limiter.refund, aloud], ids=["sync", "async"])


@pytest.fixture(autouse=True)
def _fresh():
    with stores.pinned(MemoryStore()):
        yield


def left(slug: str = "p", key: object = CLIENT) -> int | None:
    return limiter.peek(slug, key=key, cost=0).remaining


@either
@every_algorithm
def test_it_is_given_back_and_never_more_than_was_spent(refund, algorithm):
    with override_policies(p={**TEN, "algorithm": algorithm}), moving_clock():
        limiter.take("p", key=CLIENT, cost=4)
        limiter.take("p", key="192.0.2.2", cost=4)
        refund("p", key=CLIENT)
        assert left() == 7
        refund("p", key=CLIENT, cost=0)
        assert left() == 7
        refund("p", key=CLIENT, cost=1000)
        assert left() == 10
        assert left(key="192.0.2.2") == 6


@either
@pytest.mark.parametrize("mode", ["enforce", "shadow"])
def test_what_watches_counts_too(refund, mode):
    with override_policies(p={**TEN, "mode": mode}), moving_clock():
        limiter.take("p", key=CLIENT, cost=4)
        refund("p", key=CLIENT, cost=3)
        assert left() == 9


@either
@pytest.mark.parametrize("policy", [{**TEN, "mode": "off"}, {**TEN, "limit": 0}])
def test_there_is_nothing_to_give_back_where_nothing_is_counted(refund, policy):
    with override_policies(p=policy), stores.pinned(Down()):
        refund("p", key=CLIENT)


@either
def test_the_kill_switch_turns_it_off(refund, settings):
    settings.RATELIMIT = {"ENABLED": False}
    with override_policies(p=TEN), stores.pinned(Down()):
        refund("p", key=CLIENT)


@either
@pytest.mark.parametrize("cost", [-1, 1.5, True, "1", None])
def test_a_cost_that_cannot_be_is_refused(refund, cost):
    with override_policies(p=TEN), pytest.raises(ValueError, match="cost"):
        refund("p", key=CLIENT, cost=cost)


@either
def test_a_policy_or_a_key_that_is_not_there_is_told(refund):
    with override_policies(p=TEN):
        with pytest.raises(limiter.UnknownPolicy):
            refund("q", key=CLIENT)
        with pytest.raises(ValueError, match="key"):
            refund("p")


class Down(MemoryStore):
    """A store that fails."""

    def give(self, takes, since=None, decisions=()):
        raise Unavailable("no answer", "slow")


@either
@pytest.mark.parametrize("on_error", ["open", "closed", "local"])
def test_a_store_that_fails_is_told(refund, on_error):
    """Whoever gives back wants to know, and nothing is counted here instead."""
    policy = {**TEN, "on_error": on_error}
    with override_policies(p=policy), stores.pinned(Down()), pytest.raises(Unavailable):
        refund("p", key=CLIENT)
