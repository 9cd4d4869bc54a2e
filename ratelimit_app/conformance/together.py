"""A call takes from all its buckets or from none; what only watches never stands in the way."""

import pytest

from ratelimit_app.algorithms import ALGORITHMS

from .subject import MakeStore, Subject, every_algorithm, quota


@every_algorithm
def test_decisions_come_in_the_order_of_the_takes(make_store: MakeStore, algorithm: str) -> None:
    subject = Subject(make_store)
    quotas = [quota(algorithm, limit, 60, policy=f"p{limit}") for limit in (30, 10, 20)]
    decisions = subject.take_all(*quotas)
    assert [each.policy for each in decisions] == ["p30", "p10", "p20"]
    assert [each.remaining for each in decisions] == [29, 9, 19]


def test_a_call_without_takes_decides_nothing(make_store: MakeStore) -> None:
    assert Subject(make_store).store.take([]) == []


@every_algorithm
def test_one_refusal_spends_nothing_of_the_others(make_store: MakeStore, algorithm: str) -> None:
    """B8: two for the user, ten for all; one user sends ten, and eight are left for all."""
    subject = Subject(make_store)
    two, ten = quota(algorithm, 2, 60, policy="user"), quota(algorithm, 10, 60, policy="global")
    calls = [
        subject.store.take([subject.asked(two, who="alice"), subject.asked(ten, who="everybody")])
        for _ in range(10)
    ]
    assert [user.allowed for user, _ in calls] == [True] * 2 + [False] * 8
    assert [user.remaining for user, _ in calls] == [1] + [0] * 9
    # Beside a refusal the other bucket is shown as it stays.
    assert [everybody.allowed for _, everybody in calls] == [True] * 10
    assert [everybody.remaining for _, everybody in calls] == [9] + [8] * 9
    assert subject.look(two, who="alice").remaining == 0
    assert subject.look(ten, who="everybody").remaining == 8


@every_algorithm
def test_the_order_of_a_refusal_does_not_matter(make_store: MakeStore, algorithm: str) -> None:
    subject = Subject(make_store)
    one, ten = quota(algorithm, 1, 60, policy="one"), quota(algorithm, 10, 60, policy="ten")
    assert [each.allowed for each in subject.take_all(one, ten)] == [True, True]
    assert [each.allowed for each in subject.take_all(one, ten)] == [False, True]
    assert [each.allowed for each in subject.take_all(ten, one)] == [True, False]
    assert subject.look(ten).remaining == 9


@every_algorithm
def test_two_limits_on_one_client_count_apart(make_store: MakeStore, algorithm: str) -> None:
    """B7: three a minute and thirty a day; the fourth is refused by the minute, free of the day."""
    subject = Subject(make_store)
    minute, day = (
        quota(algorithm, 3, 60, policy="minute"),
        quota(algorithm, 30, 86400, policy="day"),
    )
    assert [each.remaining for each in subject.take_all(minute, day)] == [2, 29]
    subject.take_all(minute, day)
    subject.take_all(minute, day)
    fourth = subject.take_all(minute, day)
    assert [(each.policy, each.allowed) for each in fourth] == [("minute", False), ("day", True)]
    assert subject.look(day).remaining == 27


@every_algorithm
def test_a_cost_that_never_fits_spends_nothing_of_the_others(
    make_store: MakeStore, algorithm: str
) -> None:
    subject = Subject(make_store)
    small, large = quota(algorithm, 5, 60, policy="small"), quota(algorithm, 50, 60, policy="large")
    never, fits = subject.take_all(small, large, cost=6)
    assert (never.allowed, never.retry_after, never.remaining) == (False, None, 5)
    assert (fits.allowed, fits.retry_after, fits.remaining) == (True, 0, 50)
    assert subject.look(large).reset_after == 0


@every_algorithm
def test_a_shadow_never_refuses_the_call(make_store: MakeStore, algorithm: str) -> None:
    """It counts up to its limit and says what it would have done; others are charged as ever."""
    subject = Subject(make_store)
    watched = quota(algorithm, 1, 60, policy="watched", shadow=True)
    enforced = quota(algorithm, 3, 60, policy="enforced")
    calls = [subject.take_all(watched, enforced) for _ in range(4)]
    assert [shadow.allowed for shadow, _ in calls] == [True, False, False, False]
    assert [shadow.remaining for shadow, _ in calls] == [0, 0, 0, 0]
    assert [each.allowed for _, each in calls] == [True, True, True, False]
    assert [each.remaining for _, each in calls] == [2, 1, 0, 0]


@every_algorithm
def test_a_shadow_is_not_spent_by_a_refused_call(make_store: MakeStore, algorithm: str) -> None:
    subject = Subject(make_store)
    watched = quota(algorithm, 10, 60, policy="watched", shadow=True)
    enforced = quota(algorithm, 2, 60, policy="enforced")
    calls = [subject.take_all(enforced, watched) for _ in range(5)]
    assert [shadow.remaining for _, shadow in calls] == [9, 8, 8, 8, 8]
    assert subject.look(watched).remaining == 8


@every_algorithm
def test_a_shadow_alone_counts_and_its_own_refusal_is_said(
    make_store: MakeStore, algorithm: str
) -> None:
    subject, watched = Subject(make_store), quota(algorithm, 2, 60, shadow=True)
    assert [subject.take(watched).allowed for _ in range(4)] == [True, True, False, False]


@pytest.mark.parametrize("refusing", list(ALGORITHMS))
def test_all_algorithms_in_one_call_spend_together_or_not(
    make_store: MakeStore, refusing: str
) -> None:
    subject = Subject(make_store)
    quotas = [quota(name, 1 if name == refusing else 5, 60, policy=name) for name in ALGORITHMS]
    assert [each.allowed for each in subject.take_all(*quotas)] == [True] * 6
    for _ in range(3):
        decisions = subject.take_all(*quotas)
        assert [each.policy for each in decisions if not each.allowed] == [refusing]
    left = {each.policy: subject.look(each).remaining for each in quotas}
    assert left == {name: 0 if name == refusing else 4 for name in ALGORITHMS}


@every_algorithm
def test_a_look_at_several_writes_nothing(make_store: MakeStore, algorithm: str) -> None:
    subject = Subject(make_store)
    one, two = quota(algorithm, 1, 60, policy="one"), quota(algorithm, 2, 60, policy="two")
    takes = [subject.asked(one), subject.asked(two)]
    for remaining in ([0, 1], [0, 1]):
        looks = [subject.store.take(takes, spend=False) for _ in range(3)]
        answer = subject.store.take(takes)
        assert looks == [answer] * 3
        assert [each.remaining for each in answer] == remaining
    assert subject.look(two).remaining == 1
