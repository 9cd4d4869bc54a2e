"""A limit is a number: exactly so many are admitted, for each client and policy, and no more."""

import pytest

from ratelimit_app.algorithms import Decision

from .subject import MakeStore, Subject, every_algorithm, every_bucket, quota


@every_algorithm
def test_admits_up_to_the_limit_and_refuses_past_it(make_store: MakeStore, algorithm: str) -> None:
    subject, five = Subject(make_store), quota(algorithm, 5, 60)
    decisions = [subject.take(five) for _ in range(8)]
    assert [each.allowed for each in decisions] == [True] * 5 + [False] * 3
    assert [each.remaining for each in decisions] == [4, 3, 2, 1, 0, 0, 0, 0]


@every_algorithm
def test_a_decision_says_capacity_policy_and_where_it_was_made(
    make_store: MakeStore, algorithm: str
) -> None:
    subject = Subject(make_store)
    decision = subject.take(quota(algorithm, 5, 60, policy="login"))
    assert (decision.limit, decision.policy) == (5, "login")
    assert decision.source == subject.store.name


@every_bucket
def test_burst_is_the_capacity_of_a_bucket(make_store: MakeStore, algorithm: str) -> None:
    subject, bursts = Subject(make_store), quota(algorithm, 2, 10, burst=5)
    decisions = [subject.take(bursts) for _ in range(6)]
    assert [each.allowed for each in decisions] == [True] * 5 + [False]
    assert {each.limit for each in decisions} == {5}
    subject.wait(10)
    assert subject.look(bursts).remaining == 2


@every_algorithm
def test_remaining_falls_by_the_cost_and_a_refusal_leaves_it(
    make_store: MakeStore, algorithm: str
) -> None:
    subject, ten = Subject(make_store), quota(algorithm, 10, 60)
    #        cost, allowed, remaining
    table = [(3, True, 7), (4, True, 3), (4, False, 3), (1, True, 2), (3, False, 2), (2, True, 0)]
    for cost, allowed, remaining in table:
        decision = subject.take(ten, cost)
        assert (decision.allowed, decision.remaining) == (allowed, remaining)


@every_algorithm
@pytest.mark.parametrize("spent", [0, 3, 5])
def test_a_cost_above_the_limit_never_fits_and_consumes_nothing(
    make_store: MakeStore, algorithm: str, spent: int
) -> None:
    subject, five = Subject(make_store), quota(algorithm, 5, 60)
    subject.take(five, spent)
    before = subject.look(five)
    for cost in (6, 10**6):
        decision = subject.take(five, cost)
        assert (decision.allowed, decision.remaining) == (False, 5 - spent)
        assert decision.retry_after is None
    assert subject.look(five) == before


@every_algorithm
def test_cost_zero_always_fits_and_spends_nothing(make_store: MakeStore, algorithm: str) -> None:
    subject, two = Subject(make_store), quota(algorithm, 2, 60)
    for remaining in (2, 1, 0):
        for _ in range(3):
            decision = subject.take(two, 0)
            assert (decision.allowed, decision.remaining) == (True, remaining)
            assert decision.retry_after == 0
        subject.take(two)


@every_algorithm
@pytest.mark.parametrize("cost", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("spent", [0, 1, 3])
def test_a_look_answers_what_a_take_would_and_writes_nothing(
    make_store: MakeStore, algorithm: str, spent: int, cost: int
) -> None:
    subject, three = Subject(make_store), quota(algorithm, 3, 60)
    subject.take(three, spent)
    subject.wait(0.5)
    looks = [subject.look(three, cost) for _ in range(3)]
    assert looks == [subject.take(three, cost)] * 3


@every_algorithm
def test_large_numbers_are_exact(make_store: MakeStore, algorithm: str) -> None:
    """B44: costs of 10,000 over ten years, at the largest limit that is counted exactly there."""
    subject, large = Subject(make_store), quota(algorithm, 28_561, 315_360_000)
    for allowed, remaining in [(True, 18_561), (True, 8_561), (False, 8_561)]:
        decision = subject.take(large, 10_000)
        assert (decision.allowed, decision.remaining) == (allowed, remaining)
    assert decision.retry_after
    subject.wait(decision.retry_after - 0.001)
    assert not subject.take(large, 10_000).allowed
    subject.wait(0.001)
    assert subject.take(large, 10_000).allowed


@every_algorithm
def test_clients_do_not_share_a_bucket(make_store: MakeStore, algorithm: str) -> None:
    subject, two = Subject(make_store), quota(algorithm, 2, 60)
    assert [subject.take(two, who="alice").allowed for _ in range(3)] == [True, True, False]
    assert [subject.take(two, who="bob").allowed for _ in range(3)] == [True, True, False]


@every_algorithm
def test_policies_do_not_share_a_bucket(make_store: MakeStore, algorithm: str) -> None:
    """B6: `x` at 11 and `x1` at 1 are two counters, although names and numbers run together."""
    subject = Subject(make_store)
    x, x1 = quota(algorithm, 11, 60, policy="x"), quota(algorithm, 1, 60, policy="x1")
    assert [subject.take(x1).allowed for _ in range(2)] == [True, False]
    assert [subject.take(x).remaining for _ in range(3)] == [10, 9, 8]


@every_algorithm
def test_reset_makes_these_buckets_fresh_and_no_others(
    make_store: MakeStore, algorithm: str
) -> None:
    subject, two = Subject(make_store), quota(algorithm, 2, 60)
    other = quota(algorithm, 2, 60, policy="other")
    for who in ("alice", "bob"):
        subject.take_all(two, other, cost=2, who=who)
    subject.store.reset([subject.asked(two, who="alice")])
    assert subject.look(two, who="alice") == Decision(
        True, 2, 2, 0, 0, two.policy, subject.store.name
    )
    assert subject.look(two, who="bob").remaining == 0
    assert subject.look(other, who="alice").remaining == 0


@every_algorithm
def test_reset_of_a_bucket_that_is_not_there_does_no_harm(
    make_store: MakeStore, algorithm: str
) -> None:
    subject, two = Subject(make_store), quota(algorithm, 2, 60)
    subject.store.reset([subject.asked(two)])
    assert subject.take(two).remaining == 1


def test_another_algorithm_starts_afresh(make_store: MakeStore) -> None:
    """Each algorithm has a tag of its own, so that no state is read by the wrong one (B2 28)."""
    subject = Subject(make_store)
    for algorithm in ("fixed_window", "sliding_window_log", "gcra", "fixed_window"):
        subject.take(quota(algorithm, 3, 60))
    assert subject.look(quota("fixed_window", 3, 60)).remaining == 1
    assert subject.look(quota("gcra", 3, 60)).remaining == 2


def test_every_process_is_counted_that_says_it_is_alive(make_store: MakeStore) -> None:
    store = Subject(make_store).store
    store.beat()
    assert store.processes >= 1


def test_the_word_that_policies_changed_reaches_everybody_or_is_not_offered(
    make_store: MakeStore,
) -> None:
    store = Subject(make_store).store
    for token in ("first", "second"):
        store.announce(token)
        assert store.version() in (None, token)
