"""A judge that finds nothing would be worth nothing: each promise, broken on purpose."""

import time

import pytest

from tests.chaos.load import Asked, Seen
from tests.live.asking import Answer

from .judge import Judge, Loss
from .meters import METERS
from .policies import RULES

#: Seconds on the clock of answers, long enough ago; a window of each rule begins there or later.
NOW = 1000.0

every_rule = pytest.mark.parametrize("slug", list(RULES))


def seen(
    slug: str,
    at: float,
    status: int = 200,
    source: str = "redis",
    took: float = 0.001,
    limit: int | None = None,
) -> Seen:
    limit = limit or RULES[slug].limit
    headers = {"X-Source": source}
    if source != "error":
        headers["RateLimit-Policy"] = f'"{slug}";q={limit};w=1'
    answer = Answer(status, 1, headers, b"", at, at + took)
    return Seen(Asked(f"/soak/{slug}/", "somebody"), answer)


@pytest.fixture
def judge() -> Judge:
    made = Judge()
    # The epoch begins with the clock of answers, so that windows begin where one can see it.
    made._epoch = 0.0
    return made


def broken(judge: Judge, *answers: Seen) -> dict[str, int]:
    for each in answers:
        judge.saw(each)
    judge.settle()
    return dict(judge.broken)


@every_rule
def test_the_limit_is_all_right_and_one_more_is_not(judge: Judge, slug: str):
    rule = RULES[slug]
    start = NOW - NOW % rule.period + rule.period
    within = [seen(slug, start + 0.01 * number) for number in range(rule.limit)]
    assert broken(judge, *within) == {}
    assert broken(judge, seen(slug, start + 0.2)) == {"at most the limit": 1}


@every_rule
def test_in_the_long_run_what_comes_back_is_all_right_and_more_is_not(slug: str):
    rule = RULES[slug]
    start = NOW - NOW % rule.period + rule.period
    for factor, right in ((1.01, True), (0.7, False)):
        meter, step = METERS[rule.algorithm](rule), factor * rule.period / rule.limit
        moments = [start + step * number for number in range(6 * rule.limit)]
        # A sliding stretch has its blur at both ends.
        if rule.algorithm == "sliding_window_log" and right:
            moments = [start + 1.2 * step * number for number in range(6 * rule.limit)]
        assert all(meter.admitted(at, at + 0.001, 0) for at in moments) is right


def test_buckets_that_were_lost_are_fresh_ones_and_no_more(judge: Judge):
    before = [seen("closed", NOW + 0.01 * number) for number in range(10)]
    judge.lost(Loss(NOW + 1, NOW + 2, 0))
    after = [seen("closed", NOW + 3 + 0.01 * number) for number in range(10)]
    assert broken(judge, *before, *after) == {}
    assert broken(judge, seen("closed", NOW + 3.2)) == {"at most the limit": 1}


def test_shares_together_are_at_most_the_limit(judge: Judge):
    judge._outages.append([NOW - 1, NOW + 9])
    admitted = [seen("local", NOW + 0.01 * number, source="local") for number in range(12)]
    assert broken(judge, *admitted) == {}
    promise = "local: all processes together at most the limit"
    assert broken(judge, seen("local", NOW + 0.2, source="local")) == {promise: 1}


def test_an_answer_without_redis_must_have_its_reason(judge: Judge):
    without = seen("open", NOW, source="error")
    judge._outages.append([NOW - 1, NOW + 0.5])
    assert broken(judge, without) == {}
    late = seen("open", NOW + 1, source="error")
    assert broken(judge, late) == {"enforced while Redis answers": 1}


def test_what_on_error_says_is_what_must_happen(judge: Judge):
    judge._outages.append([NOW - 1, NOW + 9])
    let_through = seen("closed", NOW, source="error")
    assert broken(judge, let_through) == {"decided by Redis or by on_error": 1}


@pytest.mark.parametrize(("status", "source"), [(500, "redis"), (0, "redis")])
def test_errors_and_silence(judge: Judge, status: int, source: str):
    assert broken(judge, seen("open", NOW, status, source)) == {"no error of ours": 1}


def test_a_late_answer(judge: Judge):
    assert broken(judge, seen("open", NOW, 429, took=0.49)) == {}
    assert broken(judge, seen("open", NOW, 429, took=0.51)) == {"answered in time": 1}


def test_an_edit_that_is_not_obeyed(judge: Judge):
    judge.edited(NOW, 12)
    assert broken(judge, seen("edited", NOW + 0.5, 429, limit=18)) == {}
    assert broken(judge, seen("edited", NOW + 1.1, 429, limit=12)) == {}
    promise = "an edit is obeyed within a second"
    assert broken(judge, seen("edited", NOW + 1.1, 429, limit=18)) == {promise: 1}


def test_answers_wait_until_all_that_happened_is_known(judge: Judge):
    judge.saw(seen("open", time.monotonic(), source="error"))
    assert judge.broken == {}
    judge.settle()
    assert judge.broken == {"enforced while Redis answers": 1}
