"""The promises for all numbers: Hypothesis looks for limits and histories that break them."""

from hypothesis import given
from hypothesis import strategies as st

from .stories import assert_coherent, examples, jumping, milliseconds, quotas, stories, units
from .subject import MakeStore, Subject, every_algorithm


@every_algorithm
@examples
@given(data=st.data())
def test_refused_a_millisecond_before_retry_after_and_admitted_at_it(
    make_store: MakeStore, algorithm: str, data: st.DataObject
) -> None:
    story = data.draw(stories(algorithm))
    subject, asked = story.told(make_store), story.asked
    left = units(subject.look(asked))
    if left == asked.limit.burst:
        subject.take(asked, left)
        left = 0
    cost = data.draw(st.integers(left + 1, asked.limit.burst))
    subject.now += milliseconds(subject.take(asked, cost).retry_after) - 1
    early = subject.look(asked, cost)
    assert (early.allowed, early.retry_after) == (False, 0.001)
    subject.now += 1
    assert subject.take(asked, cost).allowed


@every_algorithm
@examples
@given(data=st.data())
def test_like_a_fresh_bucket_at_reset_after_and_not_a_millisecond_before(
    make_store: MakeStore, algorithm: str, data: st.DataObject
) -> None:
    story = data.draw(stories(algorithm))
    subject, asked = story.told(make_store), story.asked
    subject.take(asked, 1)
    subject.now += milliseconds(subject.look(asked).reset_after) - 1
    assert subject.look(asked).reset_after == 0.001
    subject.now += 1
    fresh, other = subject.look(asked), subject.look(asked, who="somebody new")
    assert fresh == other
    assert subject.take(asked, asked.limit.burst).allowed


@every_algorithm
@examples
@given(data=st.data())
def test_decisions_are_coherent(make_store: MakeStore, algorithm: str, data: st.DataObject) -> None:
    """What remains decides what fits, falls by its cost, and never rises without time."""
    story = data.draw(stories(algorithm))
    subject, asked = Subject(make_store, story.start), story.asked
    for passed, cost in story.steps:
        before = units(subject.look(asked))
        subject.now += passed
        left = units(subject.look(asked))
        assert before <= left
        look, decision = subject.look(asked, cost), subject.take(asked, cost)
        assert look == decision
        assert_coherent(decision, asked, cost)
        assert decision.allowed == (cost <= left)
        assert decision.remaining == left - cost * decision.allowed
        assert subject.look(asked) == decision._replace(allowed=True, retry_after=0)


@every_algorithm
@examples
@given(data=st.data())
def test_refusals_leave_no_trace(
    make_store: MakeStore, algorithm: str, data: st.DataObject
) -> None:
    """Who knocks and is refused stands where somebody stands who did not knock."""
    story = data.draw(stories(algorithm))
    subject, asked = Subject(make_store, story.start), story.asked
    for passed, cost in story.steps:
        subject.now += passed
        if subject.take(asked, cost, who="knocks").allowed:
            subject.take(asked, cost, who="knows")
        assert subject.look(asked, who="knocks") == subject.look(asked, who="knows")


@every_algorithm
@examples
@given(data=st.data())
def test_a_call_takes_from_all_or_from_none(
    make_store: MakeStore, algorithm: str, data: st.DataObject
) -> None:
    """Decided by what each bucket says alone; a shadow's word counts for nothing but itself."""
    names = ("first", "second", "third")
    policies = [data.draw(quotas(algorithm, name)) for name in names]
    subject = Subject(make_store)
    for passed, cost in data.draw(stories(algorithm)).steps:
        subject.now += passed
        before = [subject.look(asked) for asked in policies]
        alone = [subject.look(asked, cost) for asked in policies]
        decisions = subject.take_all(*policies, cost=cost)
        after = [subject.look(asked) for asked in policies]
        assert [each.allowed for each in decisions] == [each.allowed for each in alone]
        refused = any(
            not said.allowed and not asked.shadow
            for asked, said in zip(policies, alone, strict=True)
        )
        for was, said, decision, now in zip(before, alone, decisions, after, strict=True):
            spends = said.allowed and not refused
            assert now.remaining == units(was) - cost * spends
            assert (decision.remaining, decision.reset_after) == (now.remaining, now.reset_after)
            assert spends or now == was


@every_algorithm
@examples
@given(data=st.data())
def test_no_step_of_the_clock_breaks_a_bucket(
    make_store: MakeStore, algorithm: str, data: st.DataObject
) -> None:
    """Decisions stay coherent, no wait is beyond a full bucket's, and waiting it is enough."""
    story = data.draw(stories(algorithm, jumping))
    subject, asked = Subject(make_store, story.start), story.asked
    for passed, cost in story.steps:
        subject.now += passed
        decision = subject.take(asked, cost)
        assert_coherent(decision, asked, cost)
        if decision.retry_after:
            assert decision.retry_after <= subject.longest_wait(asked, cost)
            now = subject.now
            subject.now += milliseconds(decision.retry_after)
            assert subject.look(asked, cost).allowed
            subject.now = now


@every_algorithm
@examples
@given(data=st.data())
def test_no_edit_breaks_a_bucket(
    make_store: MakeStore, algorithm: str, data: st.DataObject
) -> None:
    """Any numbers after any others: no wait is beyond the new ones', and waiting is enough."""
    story = data.draw(stories(algorithm))
    subject = Subject(make_store, story.start)
    for passed, cost in story.steps:
        subject.now += passed
        asked = data.draw(quotas(algorithm))
        decision = subject.take(asked, cost)
        assert_coherent(decision, asked, cost)
        if decision.retry_after:
            assert decision.retry_after <= subject.longest_wait(asked, cost)
            now = subject.now
            subject.now += milliseconds(decision.retry_after)
            assert subject.look(asked, cost).allowed
            subject.now = now


@every_algorithm
@examples
@given(data=st.data())
def test_whatever_is_given_back_no_bucket_is_more_than_fresh(
    make_store: MakeStore, algorithm: str, data: st.DataObject
) -> None:
    """Any moments, any clock; what is left stays what it was, or rises."""
    story = data.draw(stories(algorithm, jumping))
    subject, asked = story.told(make_store), story.asked
    since, cost = subject.now + data.draw(jumping), data.draw(st.integers(1, asked.limit.burst))
    taken = subject.take(asked, cost)
    subject.now += data.draw(jumping)
    for _ in range(2):
        before = subject.look(asked)
        subject.store.give([subject.asked(asked, cost)], since, [taken])
        after = subject.look(asked)
        assert units(before) <= units(after) <= asked.limit.burst
        assert milliseconds(after.reset_after) <= milliseconds(before.reset_after)
