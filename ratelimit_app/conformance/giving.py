"""What was taken for nothing is given back: as if it had never been taken, and never more."""

import pytest

from .stories import units
from .subject import MakeStore, Subject, every_algorithm, every_bucket, every_window, quota


@every_algorithm
@pytest.mark.parametrize("before", [0, 1, 4])
def test_given_back_at_once_it_was_never_taken(
    make_store: MakeStore, algorithm: str, before: int
) -> None:
    subject, ten = Subject(make_store), quota(algorithm, 10, 60)
    subject.take(ten, before)
    subject.wait(1.3)
    never = subject.look(ten)
    decision = subject.take(ten, 3)
    subject.store.give([subject.asked(ten, 3)], subject.now, [decision])
    assert subject.look(ten) == never
    subject.take(ten, 3)
    # By hand: nobody knows when it was taken.
    subject.store.give([subject.asked(ten, 3)])
    assert subject.look(ten) == never
    subject.wait(2)
    assert subject.take(ten, 10 - before).allowed


@every_algorithm
def test_of_several_units_some_are_given_back(make_store: MakeStore, algorithm: str) -> None:
    subject, ten = Subject(make_store), quota(algorithm, 10, 60)
    subject.take(ten, 8)
    subject.store.give([subject.asked(ten, 3)])
    assert units(subject.look(ten)) == 5
    subject.store.give([subject.asked(ten, 1)])
    assert units(subject.look(ten)) == 6


@every_algorithm
def test_what_others_took_meanwhile_stays_taken(make_store: MakeStore, algorithm: str) -> None:
    """Two milliseconds of a request whose next policy refuses it, and the same without it."""
    subject, ten = Subject(make_store), quota(algorithm, 10, 60)
    for who in ("alice", "bob"):
        subject.at(0)
        subject.take(ten, 2, who=who)
        subject.at(1)
        if who == "alice":
            since, decision = subject.now, subject.take(ten, 3, who=who)
        subject.at(1.001)
        subject.take(ten, 1, who=who)
        subject.at(1.002)
    subject.store.give([subject.asked(ten, 3, who="alice")], since, [decision])
    for seconds in (1.002, 7, 30, 59.9, 61, 61.01, 120):
        subject.at(seconds)
        assert subject.look(ten, who="alice") == subject.look(ten, who="bob")


@every_algorithm
def test_never_more_than_was_taken(make_store: MakeStore, algorithm: str) -> None:
    subject, ten = Subject(make_store), quota(algorithm, 10, 60)
    fresh = subject.look(ten)
    subject.take(ten, 2)
    for _ in range(3):
        subject.store.give([subject.asked(ten, 7)])
        assert subject.look(ten) == fresh
    assert not subject.take(ten, 11).allowed
    assert subject.take(ten, 10).allowed
    assert not subject.take(ten).allowed


@every_algorithm
def test_of_what_is_not_there_nothing_is_given_back(make_store: MakeStore, algorithm: str) -> None:
    """No bucket, no units, no takes."""
    subject, ten = Subject(make_store), quota(algorithm, 10, 60)
    fresh = subject.look(ten)
    subject.store.give([subject.asked(ten)])
    subject.store.give([])
    assert subject.look(ten) == fresh
    decision = subject.take(ten, 4)
    subject.store.give([subject.asked(ten, 0)], subject.now, [decision])
    assert subject.look(ten).remaining == 6


@every_algorithm
def test_given_back_to_these_buckets_and_no_others(make_store: MakeStore, algorithm: str) -> None:
    subject, ten = Subject(make_store), quota(algorithm, 10, 60)
    other = quota(algorithm, 10, 60, policy="other")
    for who in ("alice", "bob"):
        subject.take_all(ten, other, cost=5, who=who)
    subject.store.give([subject.asked(ten, 1, who="alice"), subject.asked(other, 2, who="bob")])
    left = [units(subject.look(each, who=who)) for each in (ten, other) for who in ("alice", "bob")]
    assert left == [6, 5, 5, 7]


@every_algorithm
def test_a_refusal_after_a_give_back_says_when(make_store: MakeStore, algorithm: str) -> None:
    subject, ten = Subject(make_store), quota(algorithm, 10, 60)
    for cost in (4, 4, 2):
        subject.wait(1)
        decision = subject.take(ten, cost)
    subject.store.give([subject.asked(ten, 2)], subject.now, [decision])
    refused = subject.take(ten, 6)
    assert (refused.allowed, refused.remaining) == (False, units(subject.look(ten)))
    assert refused.retry_after
    subject.wait(refused.retry_after - 0.001)
    assert not subject.take(ten, 6).allowed
    subject.wait(0.001)
    assert subject.take(ten, 6).allowed


@every_window
def test_nothing_is_given_back_into_a_later_window(make_store: MakeStore, algorithm: str) -> None:
    """Taken at 59 s; at 61 s, or an hour later, the units are not of the window that runs."""
    subject, ten = Subject(make_store), quota(algorithm, 10, 60)
    subject.at(59)
    since, taken = subject.now, subject.take(ten, 3)
    for seconds in (121, 3659):
        subject.at(seconds)
        before = subject.take(ten, 2)
        subject.store.give([subject.asked(ten, 3)], since, [taken])
        assert subject.look(ten) == before


@pytest.mark.parametrize(
    ("algorithm", "left"),
    [
        # Its window is over.
        ("fixed_window", (8, 8)),
        # The previous window still shows: 59/60 of three units, then none of them.
        ("sliding_window_counter", (6, 8)),
        # It is a second old, and then it is gone.
        ("sliding_window_log", (5, 8)),
    ],
)
def test_across_the_edge_of_a_window(
    make_store: MakeStore, algorithm: str, left: tuple[int, int]
) -> None:
    """Three units at 59.9 s, two more at 61 s; then the three are given back."""
    subject, ten = Subject(make_store), quota(algorithm, 10, 60)
    subject.at(59.9)
    since, taken = subject.now, subject.take(ten, 3)
    subject.at(61)
    subject.take(ten, 2)
    assert units(subject.look(ten)) == left[0]
    subject.store.give([subject.asked(ten, 3)], since, [taken])
    assert units(subject.look(ten)) == left[1]


@every_bucket
def test_what_came_back_by_itself_is_not_given_back_again(
    make_store: MakeStore, algorithm: str
) -> None:
    """Six of ten units are taken at 0 s; at 30 s five are back, and at 36 s none is missing."""
    for seconds in (0, 30, 36):
        subject, ten = Subject(make_store), quota(algorithm, 10, 60)
        taken = subject.take(ten, 6)
        subject.at(seconds)
        subject.take(ten, 2)
        subject.store.give([subject.asked(ten, 6)], subject.start, [taken])
        assert units(subject.look(ten)) == 8


@every_bucket
def test_give_backs_under_a_flood_do_not_add_up(make_store: MakeStore, algorithm: str) -> None:
    """A thousand requests, two milliseconds each, are refused elsewhere and given back, while
    others take; if each left behind what is replenished meanwhile, the bucket would run dry."""
    subject, ten = Subject(make_store), quota(algorithm, 10, 60)
    for cost, who in ((4, "alice"), (4, "bob")):
        subject.take(ten, cost, who=who)
    flying = []
    for _ in range(1000):
        subject.wait(0.001)
        flying.append((subject.now, subject.take(ten)))
        if len(flying) > 2:
            since, taken = flying.pop(0)
            subject.store.give([subject.asked(ten)], since, [taken])
    for since, taken in flying:
        subject.store.give([subject.asked(ten)], since, [taken])
    assert subject.look(ten) == subject.look(ten, who="bob")
