"""What a quota, a take and a failure are when nothing more is said."""

from ratelimit_app.algorithms import ALGORITHMS, Limit
from ratelimit_app.stores import Quota, Take, Unavailable

TEN = Limit(10, 60_000, 10)


def test_a_quota_enforces_unless_it_is_shadow():
    assert Quota("login", "gcra", TEN, "tag").shadow is False


def test_a_quota_is_its_numbers_and_knows_its_twin():
    quota = Quota("login", "gcra", TEN, "tag")
    assert quota.twin is ALGORITHMS["gcra"]
    assert quota == Quota("login", "gcra", TEN, "tag")
    assert quota != Quota("login", "gcra", TEN, "tag", shadow=True)
    assert repr(quota) == (
        "Quota(policy='login', algorithm='gcra', "
        "limit=Limit(limit=10, period=60000, burst=10), tag='tag', "
        "shadow=False, ask_always=False, lease=1)"
    )


def test_a_take_is_of_one_unit():
    assert Take(Quota("login", "gcra", TEN, "tag"), b"identity").cost == 1


def test_a_failure_says_what_and_of_which_kind():
    failure = Unavailable("no answer")
    assert (str(failure), failure.kind) == ("no answer", "down")
    failure = Unavailable("no answer", "pool")
    assert (str(failure), failure.kind) == ("no answer", "pool")
