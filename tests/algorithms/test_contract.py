"""The contract of `Algorithm`: pure, silent when it refuses, and right about its own end."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratelimit_app.algorithms import ALGORITHMS, BUCKETS, Limit, State
from ratelimit_app.conformance.stories import jumping, stories
from ratelimit_app.conformance.subject import every_algorithm
from ratelimit_app.numbers import number_problems
from tests.algorithms.numbers import fits
from tests.algorithms.test_reference import saved


def frozen(state: State) -> State:
    """A copy that a take cannot change."""
    return bytes(state) if isinstance(state, bytearray) else state


@every_algorithm
@given(data=st.data())
def test_a_take_changes_nothing_that_it_is_given(algorithm: str, data: st.DataObject):
    story = data.draw(stories(algorithm, jumping))
    twin, limit = ALGORITHMS[algorithm], story.asked.limit
    state, now = None, story.start
    for passed, cost in story.steps:
        now += passed
        before = frozen(state)
        first = twin.take(state, limit, cost, now)
        assert twin.take(state, limit, cost, now) == first
        assert frozen(state) == before
        state = saved(state, first[0])


@every_algorithm
@given(data=st.data())
def test_a_state_comes_back_with_an_admission_and_with_nothing_else(
    algorithm: str, data: st.DataObject
):
    """While the clock runs forward there is nothing to mend."""
    story = data.draw(stories(algorithm))
    twin, limit = ALGORITHMS[algorithm], story.asked.limit
    state, now = None, story.start
    for passed, cost in story.steps:
        now += passed
        new, allowed, *_ = twin.take(state, limit, cost, now)
        assert (new is not None) == (allowed and cost > 0)
        state = saved(state, new)


@every_algorithm
@given(data=st.data())
def test_a_mended_bucket_needs_no_mending(algorithm: str, data: st.DataObject):
    """A refusal writes at most once, and says what it would have said of the mended bucket."""
    story = data.draw(stories(algorithm, jumping))
    twin, limit = ALGORITHMS[algorithm], story.asked.limit
    state, now = None, story.start
    for passed, cost in story.steps:
        now += passed
        new, allowed, *said = twin.take(state, limit, cost, now)
        state = saved(state, new)
        if not allowed and new is not None:
            assert twin.take(state, limit, cost, now) == (None, False, *said)


@every_algorithm
@given(data=st.data())
def test_from_its_end_on_a_state_is_like_none(algorithm: str, data: st.DataObject):
    """And its end is never before reset_after, or a store would forget too early."""
    story = data.draw(stories(algorithm, jumping))
    twin, limit = ALGORITHMS[algorithm], story.asked.limit
    state, now = None, story.start
    for passed, cost in story.steps:
        now += passed
        new, *_, reset = twin.take(state, limit, cost, now)
        state = saved(state, new)
        if new is not None:
            end = twin.expires(state, limit)
            assert end >= now + reset
            for later in (end, end + 1, end + 10**9):
                for asked in (0, 1, limit.burst, limit.burst + 1):
                    assert (
                        twin.take(state, limit, asked, later)[1:]
                        == (twin.take(None, limit, asked, later)[1:])
                    )


#: B44: what is too large to be exact is refused before it can be asked for.
HUGE = [(10**12, 315_360_000, 10_000), (10**9, 86_400_000, 1), (2**53, 1, 1)]


@every_algorithm
@pytest.mark.parametrize(("limit", "seconds", "cost"), HUGE)
def test_numbers_that_would_not_be_exact_are_no_policy(
    algorithm: str, limit: int, seconds: int, cost: int
):
    assert list(number_problems(algorithm, limit, Decimal(seconds), None, cost))


@every_algorithm
@pytest.mark.parametrize("seconds", ["0", "0.0009", "315360000.001", "-60"])
def test_a_period_that_nobody_can_wait_for_is_no_policy(algorithm: str, seconds: str):
    """B22: a refill of nothing, or at no time."""
    assert list(number_problems(algorithm, 5, Decimal(seconds), None))


#: Short numbers as often as long ones.
of_any_length = st.integers(0, 54).flatmap(lambda bits: st.integers(1, 2**bits))


@every_algorithm
@given(limit=of_any_length, burst=of_any_length, period=of_any_length)
def test_what_a_validator_lets_through_is_exact(
    algorithm: str, limit: int, burst: int, period: int
):
    """The bound up to which Lua is proven to be Python covers every policy there can be.

    But for a bucket that takes more than 100,000 years to fill.
    """
    capacity = burst if algorithm in BUCKETS else limit
    numbers = (limit, Decimal(period) / 1000, burst if algorithm in BUCKETS else None)
    if not list(number_problems(algorithm, *numbers)) and capacity * period // limit < 2**52:
        assert fits(algorithm, Limit(limit, period, capacity))
