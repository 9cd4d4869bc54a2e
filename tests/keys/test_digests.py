"""B6, promise 8: no two identities and no two policies share a bucket, and keys tell nothing."""

import itertools
from typing import Any

import pytest
from django.core.cache import caches
from django.test import override_settings
from hypothesis import assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ratelimit_app import limiter
from ratelimit_app.digests import digest, tag
from ratelimit_app.keys import KEYS
from ratelimit_app.policies import compiled
from ratelimit_app.sources import DEFAULTS
from ratelimit_app.stores import Take
from ratelimit_app.stores.redis import RedisStore
from tests.doors.site import Site

CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        # Nobody listens, and nobody needs to: only keys are made.
        "LOCATION": "redis://127.0.0.1:1/0",
        "KEY_PREFIX": "site",
        "VERSION": 3,
    }
}


@pytest.fixture(scope="module")
def store() -> Any:
    with override_settings(CACHES=CACHES):
        return RedisStore(caches["default"], 0.1)


parts = st.text(max_size=12) | st.sampled_from(
    ["", "a", "a:b", "b:c", "1:a", "é", "e\u0301", "\ud800"]
)
identities = st.lists(parts, min_size=1, max_size=4).map(tuple)


@given(identities, identities)
@hypothesis_settings(max_examples=2000)
def test_two_identities_have_two_digests(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert (digest(one) == digest(other)) is (one == other)


@given(st.lists(parts, min_size=1, max_size=5).map(tuple))
@hypothesis_settings(max_examples=2000)
def test_nor_do_parts_run_together(split: tuple[str, ...]) -> None:
    """The same text, cut elsewhere, is somebody else."""
    whole = "".join(split)
    for at in range(len(whole) + 1):
        assume((whole[:at], whole[at:]) != split)
        assert digest((whole[:at], whole[at:])) != digest(split)


@given(identities, identities)
@hypothesis_settings(max_examples=500)
def test_two_policies_have_two_tags(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert (tag(*one) == tag(*other)) is (one == other)


slugs = st.text("abx1-_", min_size=1, max_size=5)
kinds = st.sampled_from(sorted(KEYS))
policies = st.fixed_dictionaries(
    {
        "slug": slugs,
        "key": kinds,
        "key_name": st.sampled_from(["", "a", "x-a", "m.f"]),
        "algorithm": st.sampled_from(["gcra", "fixed_window"]),
        "generation": st.integers(0, 2),
    }
)
cases = st.tuples(policies, identities, st.sampled_from(["row", "code"]))


def key_of(store: RedisStore, case: Any) -> str:
    fields, identity, origin = case
    policy = compiled({**DEFAULTS, "limit": 5, "period": 60, **fields}, origin=origin)
    return store.bucket(Take(policy.quota, digest(identity)))


@given(cases, cases)
@hypothesis_settings(max_examples=2000)
def test_keys_never_collide_and_are_fit_for_every_store(store: Any, one: Any, other: Any) -> None:
    keys = [key_of(store, each) for each in (one, other)]
    assert (keys[0] == keys[1]) is (one == other)
    for key in keys:
        assert key.startswith("site:3:rl1:{")
        assert len(key) <= 120
        assert key.isascii()
        assert not set(key) & set(" *?\n\r\t\x00\"'")
        assert (key.count("{"), key.count("}")) == (1, 1)
        # Redis Cluster hashes what stands between the braces: one identity, one slot.
        assert key.partition("{")[2].partition("}")[0] != ""
    if one[1] == other[1]:
        tags = [key.partition("{")[2].partition("}")[0] for key in keys]
        assert tags[0] == tags[1]


def test_names_and_numbers_do_not_run_together() -> None:
    """B6: `x` at 11 and `x1` at 1; and what else could."""
    texts = ["x", "x1", "x11", "1x", "x:", ":x", "x\n", "X"]
    found = {digest((kind, text)) for kind in ("ip", "user") for text in texts}
    assert len(found) == 2 * len(texts)
    pairs = [digest(("header", *pair)) for pair in itertools.product(texts, texts)]
    assert len(set(pairs)) == len(texts) ** 2


def test_policies_whose_names_run_together_count_apart(of: Any) -> None:
    site: Site = of("function")
    site.policy("x", 11, period=60)
    site.policy("x1", 1, period=60)
    site.open("x1", "x")
    assert site.statuses(2) == [200, 429]
    assert limiter.peek("x", key="192.0.2.1", cost=0).remaining == 9


def test_the_secret_decides_and_nothing_raw_is_in_a_digest() -> None:
    identity = ("ip", "192.0.2.1")
    found = set()
    for secret in ("one", "two", b"two"):
        with override_settings(RATELIMIT={"SECRET": secret}):
            found.add(digest(identity))
    with override_settings(SECRET_KEY="another"):
        found.add(digest(identity))
    assert len(found) == 3
    assert all(len(each) == 15 and b"192" not in each for each in found)
