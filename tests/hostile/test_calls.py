"""What code and settings are given: an answer, or an error that names the value; nothing else."""

import contextlib
from typing import Any

from django.test import override_settings
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ratelimit_app import checks, limiter, sources, testing
from ratelimit_app.algorithms import Decision
from ratelimit_app.conf import _PARSERS, Conf, SettingError, conf, problems
from ratelimit_app.keys import KEYS
from ratelimit_app.policies import Snapshot
from ratelimit_app.rates import parse_rate
from ratelimit_app.sources import DEFAULTS

from .values import anything, texts

POLICIES: dict[str, dict[str, Any]] = {
    kind.replace("_", "-"): {
        "limit": 5,
        "period": 60,
        "key": kind,
        "key_name": {"header": "X-Key", "function": "tests.keys.functions.tenant"}.get(kind, ""),
    }
    for kind in KEYS
}


@given(st.sampled_from(sorted(POLICIES)) | texts, anything, st.just(1) | anything)
@hypothesis_settings(max_examples=300)
def test_a_call_is_answered_or_refused_with_a_reason(slug: Any, key: Any, cost: Any) -> None:
    with testing.override_policies(POLICIES):
        for call in (limiter.take, limiter.peek):
            decision = refused = None
            try:
                decision = call(slug, key=key, cost=cost)
            except (ValueError, limiter.UnknownPolicy) as error:
                refused = str(error)
            assert refused or (
                isinstance(decision, Decision)
                and 0 <= (decision.remaining or 0) <= 5
                and (decision.allowed or decision.retry_after != 0)
            )


@given(texts)
@hypothesis_settings(max_examples=200)
def test_a_rate_is_read_or_refused(text: str) -> None:
    rate = refused = None
    try:
        rate = parse_rate(text)
    except ValueError as error:
        refused = str(error)
    assert (refused and repr(text) in refused) or (rate and min(rate) >= 0 and rate[1])


names = st.sampled_from([*_PARSERS, "TYPO", 5, None])


@given(st.dictionaries(names, anything, max_size=3) | anything)
@hypothesis_settings(max_examples=300)
def test_settings_are_read_or_refused(raw: Any) -> None:
    with override_settings(RATELIMIT=raw):
        found = None
        with contextlib.suppress(SettingError):
            found = conf()
        assert isinstance(found, Conf) is not bool(problems())
        assert [each.msg for each in checks.check_settings()] == problems()
        assert all(each.msg for each in [*checks.check_keys(), *checks.check_policies()])


#: As good as any but for one or two of their fields.
fields = st.sampled_from(["slug", "limit", "period", *DEFAULTS])
rows = st.dictionaries(fields, anything, min_size=1, max_size=2).map(
    lambda wrong: {"slug": "bad", "limit": 5, "period": 60, "path": "/**", **wrong}
)


@given(st.lists(rows, max_size=3))
@hypothesis_settings(max_examples=300)
def test_rows_that_cannot_be_are_left_out_and_the_others_hold(found: list[dict[str, Any]]) -> None:
    good = {**DEFAULTS, "slug": "good", "limit": 5, "period": 60, "path": "/**"}
    snapshot = Snapshot([*({**DEFAULTS, **row} for row in found), good])
    assert snapshot.by_slug["good"].quota.limit.limit == 5
    assert snapshot.by_slug["good"] in snapshot.matching("GET", "/", None)


@given(rows)
@hypothesis_settings(max_examples=300)
def test_a_policy_in_settings_that_cannot_be_is_told_by_a_check(row: dict[str, Any]) -> None:
    with override_settings(RATELIMIT={"POLICIES": [row]}):
        served = Snapshot(sources.from_settings()).by_slug
        assert served or checks.check_policies()
