"""A wait is a promise: at the end of it the request fits, and a millisecond before it does not."""

import pytest

from .subject import MakeStore, Subject, every_algorithm, every_bucket, quota


# Ten units at once at the start of a window; then one more is asked for, then all ten.
@pytest.mark.parametrize(
    ("algorithm", "for_one", "for_all"),
    [
        # The window closes.
        ("fixed_window", 60.0, 60.0),
        # An entry exactly one period old still counts.
        ("sliding_window_log", 60.001, 60.001),
        # The next window begins with 10 × 1.0, and shows less than one unit in its last tenth.
        ("sliding_window_counter", 60.001, 114.001),
        # Each unit takes six seconds to come back.
        ("token_bucket", 6.0, 60.0),
        ("leaky_bucket", 6.0, 60.0),
        ("gcra", 6.0, 60.0),
    ],
)
def test_the_wait_of_a_full_bucket(
    make_store: MakeStore, algorithm: str, for_one: float, for_all: float
) -> None:
    subject, ten = Subject(make_store), quota(algorithm, 10, 60)
    spent = subject.take(ten, 10)
    assert (spent.allowed, spent.retry_after, spent.reset_after) == (True, 0, for_all)
    one, every = subject.take(ten, 1), subject.take(ten, 10)
    assert (one.allowed, one.retry_after, one.reset_after) == (False, for_one, for_all)
    assert (every.allowed, every.retry_after, every.reset_after) == (False, for_all, for_all)


@every_algorithm
@pytest.mark.parametrize("cost", [1, 4, 10])
def test_refused_until_retry_after_and_admitted_then(
    make_store: MakeStore, algorithm: str, cost: int
) -> None:
    subject, ten = Subject(make_store), quota(algorithm, 10, 60)
    subject.take(ten, 3)
    subject.wait(4)
    subject.take(ten, 7)
    retry = subject.take(ten, cost).retry_after
    assert retry
    subject.wait(retry - 0.001)
    early = subject.take(ten, cost)
    assert (early.allowed, early.retry_after) == (False, 0.001)
    subject.wait(0.001)
    assert subject.take(ten, cost).allowed


@every_algorithm
def test_like_a_fresh_bucket_after_reset_after_and_not_before(
    make_store: MakeStore, algorithm: str
) -> None:
    subject, ten = Subject(make_store), quota(algorithm, 10, 60)
    fresh = subject.look(ten)
    assert (fresh.remaining, fresh.retry_after, fresh.reset_after) == (10, 0, 0)
    subject.take(ten, 2)
    subject.wait(3.3)
    reset = subject.take(ten, 5).reset_after
    subject.wait(reset - 0.001)
    assert subject.look(ten).reset_after == 0.001
    subject.wait(0.001)
    assert subject.look(ten) == fresh


@every_algorithm
def test_knocking_does_not_prolong_the_wait(make_store: MakeStore, algorithm: str) -> None:
    """B13: one a minute; knocks at 30 and 59 s are refused, and change nothing about 61 s."""
    subject, one = Subject(make_store), quota(algorithm, 1, 60)
    for at, allowed in [(0, True), (30, False), (59, False), (61, True)]:
        subject.at(at)
        assert subject.take(one).allowed is allowed


@every_algorithm
def test_a_thousand_knocks_leave_the_bucket_as_it_was(
    make_store: MakeStore, algorithm: str
) -> None:
    subject, five = Subject(make_store), quota(algorithm, 5, 60)
    subject.take(five, 5)
    before = subject.look(five, 1)
    assert [subject.take(five) for _ in range(1000)] == [before] * 1000


@every_bucket
def test_a_wait_is_rounded_up(make_store: MakeStore, algorithm: str) -> None:
    """Three a second: after 0.333 s the bucket is still a fraction short."""
    subject, three = Subject(make_store), quota(algorithm, 3, 1, burst=1)
    assert subject.take(three).reset_after == 0.334
    assert subject.take(three).retry_after == 0.334


@every_bucket
def test_a_short_wait_is_neither_nothing_nor_negative(
    make_store: MakeStore, algorithm: str
) -> None:
    """B16: ten a second with a burst of one; two at once."""
    subject, ten = Subject(make_store), quota(algorithm, 10, 1, burst=1)
    assert subject.take(ten).allowed
    refused = subject.take(ten)
    assert (refused.allowed, refused.retry_after) == (False, 0.1)
    subject.wait(0.1)
    assert subject.take(ten).allowed


@every_bucket
def test_no_fraction_is_lost_over_many_small_refills(make_store: MakeStore, algorithm: str) -> None:
    """Seven in ten seconds: one comes back every 1,428.57… ms, and the seventh at 10,000 sharp."""
    subject, seven = Subject(make_store), quota(algorithm, 7, 10, burst=2)
    admitted = []
    for tenth in range(101):
        subject.at(tenth / 10)
        admitted += [tenth / 10] * subject.take(seven, 1).allowed
        admitted += [tenth / 10] * subject.take(seven, 1).allowed
    assert admitted == [0, 0, 1.5, 2.9, 4.3, 5.8, 7.2, 8.6, 10]
