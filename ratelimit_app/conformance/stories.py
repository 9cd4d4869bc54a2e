"""What Hypothesis draws: limits, and histories of a client under them."""

from typing import NamedTuple

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from ratelimit_app.algorithms import BUCKETS, Decision, Limit
from ratelimit_app.stores import Quota

from .subject import MIDNIGHT, MakeStore, Subject

#: A fixture made once for many examples does no harm: each example asks for clients of its own.
examples = settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


class Story(NamedTuple):
    """A policy, and what one client asks of it: pairs of milliseconds that pass and a cost."""

    asked: Quota
    start: int
    steps: list[tuple[int, int]]

    def told(self, make_store: MakeStore) -> Subject:
        """A subject that has this behind it."""
        subject = Subject(make_store, self.start)
        for passed, cost in self.steps:
            subject.now += passed
            subject.take(self.asked, cost)
        return subject


@st.composite
def limits(draw: st.DrawFn, algorithm: str) -> Limit:
    """Small numbers, so that refusals are common; a burst that no millisecond overfills."""
    limit, period = draw(st.integers(1, 20)), draw(st.integers(1, 100_000))
    if algorithm not in BUCKETS:
        return Limit(limit, period, limit)
    return Limit(limit, period, draw(st.integers(-(limit // -period), 30)))


def quotas(algorithm: str, policy: str = "policy") -> st.SearchStrategy[Quota]:
    """A policy of this algorithm; another one of the same name is its edit."""
    return st.builds(
        Quota,
        st.just(policy),
        st.just(algorithm),
        limits(algorithm),
        st.just(policy),
        st.booleans(),
    )


#: Around and between the periods that are drawn.
passing = st.sampled_from([0, 0, 0, 1, 2, 10, 100, 1000]) | st.integers(0, 50_000)
#: A clock set right, or wrong.
jumping = st.sampled_from([0, 0, 1, 500, 60_000, -1, -2, -500, -60_000]) | st.integers(
    -(10**7), 10**7
)


@st.composite
def stories(draw: st.DrawFn, algorithm: str, times: st.SearchStrategy[int] = passing) -> Story:
    """A client's history of up to a dozen takes."""
    asked = draw(quotas(algorithm))
    costs = st.integers(0, asked.limit.burst + 1)
    steps = draw(st.lists(st.tuples(times, costs), max_size=12))
    return Story(asked, MIDNIGHT + draw(st.integers(0, 100_000)), steps)


def milliseconds(seconds: float | None) -> int:
    """A wait as whole milliseconds, which it is made of."""
    assert seconds is not None
    return round(seconds * 1000)


def units(decision: Decision) -> int:
    """What remains; a store knows it always."""
    assert decision.remaining is not None
    return decision.remaining


def assert_coherent(decision: Decision, asked: Quota, cost: int) -> None:
    """What holds for every decision by itself."""
    capacity = asked.limit.burst
    assert decision.limit == capacity
    assert decision.remaining in range(capacity + 1)
    if units(decision) < capacity:
        assert decision.reset_after > 0
    if decision.allowed:
        assert decision.retry_after == 0
    elif cost > capacity:
        assert decision.retry_after is None
    else:
        assert decision.retry_after is not None
        assert 0 < decision.retry_after <= decision.reset_after
