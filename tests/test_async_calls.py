"""`limiter.atake`, `apeek` and `areset` are their sync twins, on the event loop."""

import asyncio

import pytest

from ratelimit_app import limiter
from ratelimit_app.limiter import UnknownPolicy
from ratelimit_app.testing import moving_clock, override_policies

TEN = {"limit": 10, "period": 3600}
CLIENT = "192.0.2.1"


def test_they_share_a_bucket_and_say_the_same():
    with override_policies(p=TEN), moving_clock():
        taken = asyncio.run(limiter.atake("p", key=CLIENT, cost=4))
        assert (taken.allowed, taken.remaining) == (True, 6)
        for cost in (0, 6, 7, 11):
            looked = asyncio.run(limiter.apeek("p", key=CLIENT, cost=cost))
            assert looked == limiter.peek("p", key=CLIENT, cost=cost)
            assert looked.allowed == (cost <= 6)
        asyncio.run(limiter.areset("p", key=CLIENT))
        assert limiter.peek("p", key=CLIENT, cost=0).remaining == 10


@pytest.mark.parametrize("call", [limiter.atake, limiter.apeek, limiter.areset])
def test_a_policy_that_is_not_there_is_told(call):
    with override_policies(p=TEN), pytest.raises(UnknownPolicy, match=r"'q'.*: p"):
        asyncio.run(call("q", key=CLIENT))
