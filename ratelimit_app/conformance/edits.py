"""An edit keeps what was spent, clamped to the new numbers; nobody waits longer than they say."""

import pytest

from .subject import MakeStore, Subject, every_algorithm, every_bucket, quota

#: Ten a minute and six of them spent; then the numbers are edited. What remains, where units are
#: counted, and where time is kept: six units of GCRA are 36 seconds, whatever a unit is by then.
EDITS = [
    # limit, seconds, remaining, of GCRA
    (10, 60, 4, 4),
    (20, 60, 14, 8),
    (8, 60, 2, 3),
    (6, 60, 0, 2),
    (5, 60, 0, 2),
    (1, 60, 0, 0),
    (10, 120, 4, 7),
    (10, 3600, 4, 9),
    (10, 30, 4, 0),
    (20, 120, 14, 14),
    (5, 30, 0, 0),
]
#: The same for the burst alone.
BURSTS = [(20, 14), (12, 6), (7, 1), (6, 0), (4, 0), (1, 0)]


@every_algorithm
@pytest.mark.parametrize(("limit", "seconds", "units", "time"), EDITS)
def test_what_remains_after_an_edit(
    make_store: MakeStore, algorithm: str, limit: int, seconds: int, units: int, time: int
) -> None:
    subject, edited = Subject(make_store), quota(algorithm, limit, seconds)
    subject.take(quota(algorithm, 10, 60), 6)
    remaining = time if algorithm == "gcra" else units
    assert subject.look(edited).remaining == remaining
    admitted = [subject.take(edited).allowed for _ in range(remaining + 1)]
    assert admitted == [True] * remaining + [False]


@every_bucket
@pytest.mark.parametrize(("burst", "remaining"), BURSTS)
def test_what_remains_after_an_edit_of_the_burst(
    make_store: MakeStore, algorithm: str, burst: int, remaining: int
) -> None:
    subject, edited = Subject(make_store), quota(algorithm, 10, 60, burst=burst)
    subject.take(quota(algorithm, 10, 60, burst=10), 6)
    assert subject.look(edited).remaining == remaining
    admitted = [subject.take(edited).allowed for _ in range(remaining + 1)]
    assert admitted == [True] * remaining + [False]


@every_algorithm
@pytest.mark.parametrize(("limit", "seconds"), [(1, 60), (5, 60), (5, 10), (2, 3600), (50, 60)])
def test_nobody_waits_longer_than_the_new_numbers_could_make_them(
    make_store: MakeStore, algorithm: str, limit: int, seconds: int
) -> None:
    subject, edited = Subject(make_store), quota(algorithm, limit, seconds)
    subject.take(quota(algorithm, 100, 60), 100)
    refused = subject.take(edited, limit)
    assert refused.remaining in range(limit)
    assert refused.retry_after is not None
    assert 0 < refused.retry_after <= subject.longest_wait(edited, limit)
    subject.wait(refused.retry_after)
    assert subject.take(edited, limit).allowed


@every_algorithm
@pytest.mark.parametrize(("limit", "seconds"), [(20, 120), (5, 30), (10, 600), (10, 6), (3, 120)])
def test_no_more_than_the_old_and_the_new_limit_in_the_first_new_period(
    make_store: MakeStore, algorithm: str, limit: int, seconds: int
) -> None:
    """Whatever the edit is worth (B2 27), asked a hundred times in the first period after it."""
    subject, edited = Subject(make_store), quota(algorithm, limit, seconds)
    assert subject.take(quota(algorithm, 10, 60), 10).allowed
    admitted = 0
    for hundredth in range(100):
        subject.at(hundredth * seconds / 100)
        while subject.take(edited).allowed:
            admitted += 1
    assert admitted in range(10 + limit + 1)


@every_algorithm
def test_lowered_and_raised_again_before_anybody_asked_changes_nothing(
    make_store: MakeStore, algorithm: str
) -> None:
    subject, ten, two = Subject(make_store), quota(algorithm, 10, 60), quota(algorithm, 2, 60)
    subject.take(ten, 6)
    subject.look(two)
    assert subject.take(ten).remaining == 3


@every_algorithm
def test_a_limit_raised_in_small_steps_resets_nothing(
    make_store: MakeStore, algorithm: str
) -> None:
    """The used count is never given back: each step of one adds at most one (B2 25)."""
    subject = Subject(make_store)
    assert subject.take(quota(algorithm, 10, 60), 10).allowed
    admitted = []
    for limit in range(11, 21):
        asked = quota(algorithm, limit, 60)
        count = 0
        while subject.take(asked).allowed:
            count += 1
        admitted.append(count)
    if algorithm == "gcra":
        # A minute of debt is a full bucket of any size.
        assert admitted == [0] * 10
    else:
        assert admitted == [1] * 10


@every_bucket
@pytest.mark.parametrize("burst", [1, 60])
def test_a_raised_limit_ends_an_hour_of_waiting(
    make_store: MakeStore, algorithm: str, burst: int
) -> None:
    """B18: one an hour, spent; a second later it is raised to sixty an hour. 61 s is allowed."""
    subject = Subject(make_store)
    assert subject.take(quota(algorithm, 1, 3600, burst=1)).allowed
    raised = quota(algorithm, 60, 3600, burst=burst)
    subject.at(1)
    at_once = subject.take(raised)
    assert at_once.limit == burst
    assert at_once.retry_after is not None
    assert at_once.retry_after <= 60
    subject.at(61)
    assert subject.take(raised).allowed


@every_algorithm
def test_shadow_and_enforce_share_the_bucket(make_store: MakeStore, algorithm: str) -> None:
    """A policy taken out of shadow goes on with what it counted there."""
    subject = Subject(make_store)
    subject.take(quota(algorithm, 10, 60, shadow=True), 6)
    assert subject.take(quota(algorithm, 10, 60)).remaining == 3
