"""Each algorithm against the textbook: the same answer to every take, to the millisecond."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratelimit_app.algorithms import ALGORITHMS, BUCKETS, EXACT, Limit, Splice, State
from ratelimit_app.conformance.subject import MIDNIGHT, every_algorithm
from tests.algorithms.reference import MODELS, Bucket, answer


def saved(old: State | None, new: State | None) -> State | None:
    """The state after a take, as a store keeps it."""
    if isinstance(new, Splice):
        assert isinstance(old, bytearray)
        new.into(old)
        return old
    return old if new is None else new


@st.composite
def limits(draw: st.DrawFn, algorithm: str) -> Limit:
    """Small enough to try every millisecond of a wait."""
    limit, period = draw(st.integers(1, 12)), draw(st.integers(1, 60))
    burst = limit if algorithm not in BUCKETS else draw(st.integers(-(limit // -period), 15))
    return Limit(limit, period, burst)


@every_algorithm
@given(data=st.data())
def test_as_the_textbook_says(algorithm: str, data: st.DataObject):
    limit = data.draw(limits(algorithm))
    take, model = ALGORITHMS[algorithm].take, MODELS[algorithm](limit)
    state, now = None, MIDNIGHT + data.draw(st.integers(0, 100))
    if isinstance(model, Bucket):
        model.last = now
    costs = st.integers(0, limit.burst + 1)
    for passed, cost in data.draw(st.lists(st.tuples(st.integers(0, 40), costs), max_size=30)):
        now += passed
        new, *said = take(state, limit, cost, now)
        state = saved(state, new)
        assert tuple(said) == answer(model, limit, cost, now)


@pytest.mark.parametrize("algorithm", sorted(BUCKETS))
@given(data=st.data())
def test_as_the_textbook_says_of_numbers_up_to_the_bound(algorithm: str, data: st.DataObject):
    """Allowed and remaining; the fractions are exact up to 2**53."""
    period = data.draw(st.integers(1, 2 ** data.draw(st.integers(1, 38))))
    limit = data.draw(st.integers(1, (EXACT - 1) // period))
    burst = data.draw(st.integers(-(limit // -period), (EXACT - 1) // period))
    numbers, model = Limit(limit, period, burst), Bucket(Limit(limit, period, burst))
    take, state, now = ALGORITHMS[algorithm].take, None, MIDNIGHT
    model.last = now
    for passed, part in data.draw(
        st.lists(st.tuples(st.integers(0, 2 * period), st.integers(0, 8)), max_size=15)
    ):
        now += passed
        cost = min(burst, burst * part // 7 + part)
        new, allowed, remaining, *_ = take(state, numbers, cost, now)
        state = saved(state, new)
        assert allowed == (cost <= model.remaining(now))
        if allowed:
            model.spend(cost, now)
        assert remaining == model.remaining(now)


@given(data=st.data())
def test_the_three_buckets_decide_alike(data: st.DataObject):
    """Between edits, while the clock runs forward: three ways to keep one number."""
    numbers = data.draw(limits("gcra"))
    states: dict[str, State | None] = dict.fromkeys(sorted(BUCKETS))
    now, costs = MIDNIGHT, st.integers(0, numbers.burst + 1)
    for passed, cost in data.draw(st.lists(st.tuples(st.integers(0, 40), costs), max_size=30)):
        now += passed
        answers = set()
        for name, state in states.items():
            states[name], *said = ALGORITHMS[name].take(state, numbers, cost, now)
            states[name] = saved(state, states[name])
            answers.add(tuple(said))
        assert len(answers) == 1
