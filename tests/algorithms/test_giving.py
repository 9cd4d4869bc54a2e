"""Giving back: as if it had never been taken, and never more than that."""

from typing import NamedTuple

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ratelimit_app.algorithms import ALGORITHMS, Limit, State
from ratelimit_app.conformance.stories import passing
from ratelimit_app.conformance.subject import MIDNIGHT, every_algorithm, every_bucket, every_window
from tests.algorithms.numbers import limits as all_limits
from tests.algorithms.test_reference import limits, saved


class Bucket:
    """One bucket, kept as a store keeps it."""

    def __init__(self, algorithm: str, limit: Limit) -> None:
        self.twin, self.limit = ALGORITHMS[algorithm], limit
        self.state: State | None = None

    def take(self, cost: int, now: int) -> tuple[bool, int]:
        """Whether it is allowed, and its reset_after."""
        new, allowed, _, _, reset = self.twin.take(self.state, self.limit, cost, now)
        self.state = saved(self.state, new)
        return allowed, reset

    def give(self, cost: int, now: int, since: int, reset: int = 0) -> None:
        given = self.twin.give(self.state, self.limit, cost, now, since, reset)
        if given is None:
            return
        state, left = given
        assert left >= 0
        self.state = saved(self.state, state) if left else None
        # What it says is what a look says.
        assert left == self.look(now)[-1]

    def look(self, now: int, cost: int = 0) -> tuple[bool, int, int, int]:
        _, *said = self.twin.take(self.state, self.limit, cost, now)
        return tuple(said)  # type: ignore[return-value]


class Tale(NamedTuple):
    """What others took before and after one take, and when that was given back."""

    limit: Limit
    start: int
    before: list[tuple[int, int]]
    cost: int
    after: list[tuple[int, int]]
    wait: int


@st.composite
def tales(draw: st.DrawFn, algorithm: str, *, alone: bool = False) -> Tale:
    limit = draw(limits(algorithm))
    steps = st.lists(st.tuples(st.integers(0, 25), st.integers(0, limit.burst)), max_size=10)
    return Tale(
        limit,
        MIDNIGHT + draw(st.integers(0, 100)),
        draw(steps),
        draw(st.integers(1, limit.burst)),
        [] if alone else draw(steps),
        draw(st.sampled_from([0, 0, 1, 2]) | st.integers(0, 100)),
    )


class Told(NamedTuple):
    """The bucket of a tale, and one of which our units were never taken, both at `now`.

    `age` is how long ago our units were taken, and `spent` the reset_after that they found.
    """

    given: Bucket
    never: Bucket
    now: int
    age: int
    spent: int


def told(algorithm: str, tale: Tale, *, known: bool = True) -> Told:
    """What the others got they get in both; `known`: the store is told what the take said."""
    given, never, now = Bucket(algorithm, tale.limit), Bucket(algorithm, tale.limit), tale.start
    for passed, cost in tale.before:
        now += passed
        given.take(cost, now)
        never.take(cost, now)
    since, spent = now, never.look(now)[-1]
    allowed, reset = given.take(tale.cost, since)
    assume(allowed)
    for passed, cost in tale.after:
        now += passed
        if given.take(cost, now)[0]:
            assert never.take(cost, now)[0]
    now += tale.wait
    given.give(tale.cost, now, since, reset if known else 0)
    return Told(given, never, now, now - since, spent)


def room(bucket: Bucket, at: int) -> tuple[int, int]:
    """What fits, and how near to fresh the bucket is: the more, the more room."""
    _, remaining, _, reset = bucket.look(at)
    return remaining, -reset


@every_algorithm
@given(data=st.data())
def test_never_more_room_than_if_it_had_not_been_taken(algorithm: str, data: st.DataObject):
    tale = data.draw(tales(algorithm))
    given, never, now, *_ = told(algorithm, tale, known=data.draw(st.booleans()))
    for later in [*range(0, 80, 3), 10**6]:
        (remaining, reset), (most, least) = room(given, now + later), room(never, now + later)
        assert remaining <= most
        assert reset <= least


@every_window
@given(data=st.data())
def test_of_a_window_it_was_never_taken(algorithm: str, data: st.DataObject):
    """Exactly, whatever others took."""
    given, never, now, *_ = told(algorithm, data.draw(tales(algorithm)))
    for later in [*range(80), 10**6]:
        assert given.look(now + later) == never.look(now + later)


@every_bucket
@given(data=st.data())
def test_a_bucket_lacks_no_more_than_it_replenished(algorithm: str, data: st.DataObject):
    """And no more than a millisecond's worth if nobody else came, or if it was never full.

    Waits are rounded up, so what was said leaves a millisecond in doubt, and another in the test.
    """
    tale = data.draw(tales(algorithm) | tales(algorithm, alone=True))
    given, never, now, age, spent = told(algorithm, tale)
    lacking = given.look(now)[-1] - never.look(now)[-1]
    assert 0 <= lacking <= max(0, age + 2 - spent)
    if not tale.after:
        assert lacking <= 1


@every_algorithm
@given(data=st.data())
def test_given_back_at_once_it_was_never_taken(algorithm: str, data: st.DataObject):
    """Exactly, whether or not it is known what the take said."""
    tale = data.draw(tales(algorithm, alone=True))._replace(wait=0)
    given, never, now, *_ = told(algorithm, tale, known=data.draw(st.booleans()))
    for later in [*range(80), 10**6]:
        for cost in (0, 1, tale.limit.burst, tale.limit.burst + 1):
            assert given.look(now + later, cost) == never.look(now + later, cost)


@pytest.mark.parametrize("algorithm", ["token_bucket", "leaky_bucket"])
@given(data=st.data())
def test_a_bucket_that_nobody_else_touched_was_never_taken_from(
    algorithm: str, data: st.DataObject
):
    """Exactly, at any time: the last write was the take."""
    tale = data.draw(tales(algorithm, alone=True))
    given, never, now, *_ = told(algorithm, tale, known=False)
    for later in [*range(80), 10**6]:
        assert given.look(now + later) == never.look(now + later)


@every_algorithm
@given(data=st.data())
def test_given_back_twice_and_at_any_time_it_is_no_more_than_fresh(
    algorithm: str, data: st.DataObject
):
    """Any numbers, any moments, clocks that jump: never negative, never above capacity."""
    limit = data.draw(all_limits(algorithm))
    bucket, now = Bucket(algorithm, limit), MIDNIGHT
    moves = passing | st.sampled_from([-1, -1000, -(10**6), limit.period, -limit.period])
    for _ in range(data.draw(st.integers(1, 8))):
        now += data.draw(moves)
        cost = data.draw(st.sampled_from([1, 2, limit.burst, limit.burst // 2 + 1]))
        _, reset = bucket.take(cost, now)
        since = now + data.draw(moves)
        now += data.draw(moves)
        for _ in range(2):
            bucket.give(cost, now, since, data.draw(st.sampled_from([0, reset])))
            _, remaining, _, left = bucket.look(now)
            assert 0 <= remaining <= limit.burst
            assert left <= ALGORITHMS[algorithm].take(None, limit, limit.burst, now)[-1] * 2


def test_gcra_cuts_a_fraction_from_before_an_edit_to_the_new_limit():
    """7/10 of a millisecond are no more than 2/3."""
    instant = 1000 << 53 | 7
    gift = ALGORITHMS["gcra"].give(instant, Limit(3, 10, 3), 1, 995, 995, 0)
    assert gift == (997 << 53 | 1, 3)
