"""A clock may step, back or forward: no crash, no gift beyond one fresh bucket, no long wait."""

import pytest

from ratelimit_app.stores import Quota

from .subject import MakeStore, Subject, every_algorithm, every_bucket, quota

HOUR = 3600


def drain(subject: Subject, asked: Quota) -> int:
    """How many are admitted now, until the first refusal."""
    admitted = 0
    while subject.take(asked).allowed:
        admitted += 1
    return admitted


@every_algorithm
@pytest.mark.parametrize("back", [1, 60, HOUR, 1000 * HOUR])
def test_a_step_back_gives_nothing_and_keeps_nobody_out_for_long(
    make_store: MakeStore, algorithm: str, back: int
) -> None:
    subject, ten = Subject(make_store), quota(algorithm, 10, 60)
    assert drain(subject, ten) == 10
    subject.wait(-back)
    refused = subject.take(ten)
    assert (refused.allowed, refused.remaining) == (False, 0)
    assert refused.retry_after is not None
    assert refused.retry_after <= subject.longest_wait(ten)
    subject.wait(refused.retry_after)
    assert subject.take(ten).allowed


@every_algorithm
def test_after_a_step_back_all_goes_on_as_if_drained_at_that_moment(
    make_store: MakeStore, algorithm: str
) -> None:
    ten, stories = quota(algorithm, 10, 60), []
    for back in (0, HOUR):
        subject = Subject(make_store)
        drain(subject, ten)
        subject.wait(-back)
        story = []
        for _ in range(130):
            story.append(subject.take(ten))
            subject.wait(1)
        stories.append(story)
    assert stories[0] == stories[1]


@every_algorithm
def test_what_is_left_after_a_step_back(make_store: MakeStore, algorithm: str) -> None:
    """Units spent stay spent. GCRA has an instant only; one far ahead is a full bucket to it."""
    subject, ten = Subject(make_store), quota(algorithm, 10, 60)
    subject.take(ten, 4)
    subject.wait(-HOUR)
    assert drain(subject, ten) == (0 if algorithm == "gcra" else 6)


@every_algorithm
def test_a_step_forward_is_time_that_passed(make_store: MakeStore, algorithm: str) -> None:
    subject, ten = Subject(make_store), quota(algorithm, 10, 60)
    assert drain(subject, ten) == 10
    subject.wait(HOUR)
    assert drain(subject, ten) == 10


@every_algorithm
def test_a_clock_put_right_after_running_ahead_locks_nobody_out(
    make_store: MakeStore, algorithm: str
) -> None:
    subject, ten = Subject(make_store), quota(algorithm, 10, 60)
    drain(subject, ten)
    subject.wait(HOUR)
    drain(subject, ten)
    subject.wait(-HOUR)
    refused = subject.take(ten)
    assert refused.retry_after == subject.longest_wait(ten)
    subject.wait(refused.reset_after)
    assert drain(subject, ten) == 10


@every_algorithm
def test_a_clock_like_a_saw_gives_one_fresh_bucket_for_each_tooth(
    make_store: MakeStore, algorithm: str
) -> None:
    subject, ten = Subject(make_store), quota(algorithm, 10, 60)
    admitted = [drain(subject, ten)]
    for _ in range(5):
        for step in (-HOUR, HOUR):
            subject.wait(step)
            admitted.append(drain(subject, ten))
    assert admitted == [10] + [0, 10] * 5


@every_algorithm
def test_a_step_that_nobody_saw_changes_nothing(make_store: MakeStore, algorithm: str) -> None:
    subject, ten = Subject(make_store), quota(algorithm, 10, 60)
    subject.take(ten, 4)
    before = subject.look(ten)
    subject.wait(-HOUR)
    subject.look(ten, 10)
    subject.wait(HOUR)
    assert subject.look(ten) == before


@every_bucket
def test_emptied_at_100_and_asked_at_40(make_store: MakeStore, algorithm: str) -> None:
    """B20: one a second, ten at once; back by a minute, the wait is a second and not a minute."""
    subject, ten = Subject(make_store), quota(algorithm, 1, 1, burst=10)
    subject.at(100)
    assert drain(subject, ten) == 10
    subject.at(40)
    refused = subject.take(ten)
    assert (refused.allowed, refused.remaining, refused.retry_after) == (False, 0, 1)
    subject.at(41)
    assert subject.take(ten).allowed
    assert not subject.take(ten).allowed


@every_algorithm
def test_a_refused_neighbour_does_not_keep_a_bucket_in_the_future(
    make_store: MakeStore, algorithm: str
) -> None:
    """The clock stepped back, and a call is refused by another bucket: this one is let be."""
    subject = Subject(make_store)
    ten, one = quota(algorithm, 10, 60, policy="ten"), quota(algorithm, 1, 60, policy="one")
    subject.take_all(ten, one)
    subject.wait(-HOUR)
    for _ in range(20):
        subject.take_all(ten, one)
        subject.wait(60)
    assert subject.take(ten).allowed
