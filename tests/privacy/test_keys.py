"""Over 100,000 examples made to collide: no two buckets share a key, and a key is plain text.

Seeded, so that every run is the same one; the values are built of what joins and splits texts.
"""

import os
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache.backends.redis import RedisCache

from ratelimit_app import digests, keys, sources
from ratelimit_app.algorithms import ALGORITHMS
from ratelimit_app.policies import CompiledPolicy, compiled
from ratelimit_app.stores.base import Take
from ratelimit_app.stores.redis import RedisStore

EXAMPLES = 120_000
#: Separators of other limiters and of Redis, lengths as we write them, and what no key may hold.
PIECES = (
    *["", "a", "b", "ab", "A", "1", "11", "1:", "2:", "1:a", "2:1:", ":", "::", "|", "/", "_"],
    *["-", ",", "=", " ", "\t", "\n", "\r\n", "\0", "{", "}", "{a}", "*", "?", "[a]", "\\", '"'],
    *[
        "'",
        "%",
        "\x7f",
        "\x80",
        "é",
        "e\u0301",
        "ﬁ",
        "İ",
        "日本",
        "😀",
        "\ud800",
        "\udfff",
        "\u2028",
    ],
    *["a" * 300, "192.0.2.1", "2001:db8::1", "None", "rl1"],
)
KINDS = ("user", "session", "header", "function", "user_or_ip", "ip", "global")
#: As long as a key may be, and what it is made of; the braces are the cluster's tag.
FORM = re.compile(r"[!-z|~]{0,60}\{[A-Za-z0-9_-]{20}\}[A-Za-z0-9_-]{12}")


@pytest.fixture
def chance() -> random.Random:
    return random.Random(20260523)


@pytest.fixture
def store() -> RedisStore:
    """It makes keys; nobody is asked."""
    return RedisStore(RedisCache("redis://127.0.0.1:1/0", {"KEY_PREFIX": "site"}), timeout=1)


def text(chance: random.Random) -> str:
    return "".join(chance.choices(PIECES, k=chance.randrange(5)))


def policies(chance: random.Random) -> list[tuple[object, CompiledPolicy]]:
    """Each with what makes its buckets its own; slugs and names run into one another."""
    found: dict[tuple[object, ...], CompiledPolicy] = {}
    while len(found) < 2000:
        fields: dict[str, Any] = {
            **sources.DEFAULTS,
            "slug": "".join(chance.choices(["a", "1", "-", "_", "a1", "x"], k=3)),
            "key": chance.choice(KINDS),
            "key_name": text(chance)[:250],
            "algorithm": chance.choice(list(ALGORITHMS)),
            "generation": chance.choice([0, 1, 11]),
            "limit": 5,
            "period": 60,
        }
        origin = chance.choice(["row", "code"])
        named = ("slug", "key", "key_name", "algorithm", "generation")
        meaning = (origin, *(fields[name] for name in named))
        found[meaning] = compiled(fields, origin=origin)
    return list(found.items())


def examples(chance: random.Random) -> Iterator[tuple[object, CompiledPolicy, digests.Identity]]:
    """What a bucket means, and the policy and the identity that it belongs to."""
    known = policies(chance)
    # A few policies have most of the clients, so that values meet under one policy too.
    for number in range(EXAMPLES):
        meaning, policy = known[number % 20 if number % 3 else number % len(known)]
        identity = policy.key.given(text(chance), policy.key_name)
        yield (meaning, identity), policy, identity


def test_no_two_share_a_bucket_and_one_always_finds_its_own(
    chance: random.Random, store: RedisStore
):
    found: dict[object, str] = {}
    seen = 0
    for meaning, policy, identity in examples(chance):
        seen += 1
        key = store.bucket(Take(policy.quota, digests.digest(identity)))
        assert found.setdefault(meaning, key) == key
    assert seen == EXAMPLES
    assert len(found) > 40_000
    assert len(set(found.values())) == len(found)


def test_parts_that_join_to_the_same_text_are_different_people(chance: random.Random):
    """B6: ("a:b", "c") is not ("a", "b:c"), nor is a value that looks like a length."""
    texts = ["".join(chance.choices(PIECES[:-4], k=8)) for _ in range(2000)]
    found: dict[digests.Identity, bytes] = {}
    for number in range(EXAMPLES):
        whole = texts[number % len(texts)]
        cut, again = sorted(chance.choices(range(len(whole) + 1), k=2))
        in_three = whole[:cut], whole[cut:again], whole[again:]
        parts = in_three if number % 5 else (whole[:cut], whole[cut:])
        found[parts] = digests.digest(parts)
    assert len(found) > 20 * len(texts)
    assert {"".join(parts) for parts in found} <= set(texts)
    assert len(set(found.values())) == len(found)


def test_a_key_is_short_plain_text(chance: random.Random, store: RedisStore):
    """ASCII without blanks, stars and line breaks, at most 120 bytes, and one tag in braces."""
    for _, policy, identity in examples(chance):
        key = store.bucket(Take(policy.quota, digests.digest(identity)))
        assert FORM.fullmatch(key), key
        assert "*" not in key
        assert len(key) <= 120
        assert key.startswith("site:1:")


def test_another_secret_makes_other_keys(settings: Any):
    """What is in Redis cannot be looked up from a table of addresses."""
    before = digests.digest(("ip", "192.0.2.1"))
    settings.SECRET_KEY = os.urandom(20).hex()
    assert digests.digest(("ip", "192.0.2.1")) != before


#: Spellings of one client; the bare /64 of an address is what is counted.
SAME = [
    ("ip", "", ["192.0.2.1", " 192.0.2.1 ", "192.0.2.1:8080", "::ffff:192.0.2.1"]),
    ("ip", "", ["::ffff:c000:201", "[::ffff:192.0.2.1]:80", '"192.0.2.1"', "192.0.2.1"]),
    ("ip", "", ["2001:db8:0:1::1", "2001:DB8::1:0:0:0:1", "2001:0db8:0000:0001::ffff"]),
    ("ip", "", ["2001:db8:0:1::1%eth0", "[2001:db8:0:1:2:3:4:5]:443", "2001:db8:0:1::1.2.3.4"]),
    ("user_or_ip", "", ["2001:db8:0:1::1", "2001:db8:0:1:a:b:c:d"]),
    ("global", "", ["", "anything"]),
]


@pytest.mark.parametrize(("kind", "name", "spellings"), SAME)
def test_spellings_of_one_client_are_one_bucket(kind: str, name: str, spellings: list[str]):
    assert len({digests.digest(keys.KEYS[kind].given(each, name)) for each in spellings}) == 1


def test_the_name_of_a_header_has_no_case():
    given = keys.KEYS["header"].given
    assert given("v", "X-Api-Key") == given("v", "x-aPI-kEY") != given("V", "X-Api-Key")


def test_each_address_of_a_network_is_that_network(chance: random.Random):
    """B4, for IPv6; and of IPv4 each address is a client of its own, however it is written."""
    given = keys.KEYS["ip"].given
    networks = {given(f"2001:db8:{n:x}:1::", ""): n for n in range(200)}
    assert len(networks) == 200
    for _ in range(5000):
        n, host = chance.randrange(200), chance.getrandbits(64)
        rest = ":".join(f"{host >> shift & 0xFFFF:X}" for shift in (48, 32, 16, 0))
        assert networks[given(f"2001:DB8:{n:04X}:1:{rest}", "")] == n
    for _ in range(5000):
        a, b = chance.getrandbits(8), chance.getrandbits(8)
        plain = given(f"198.51.{a}.{b}", "")
        assert plain == ("ip", f"198.51.{a}.{b}")
        assert given(f"::ffff:198.51.{a}.{b}", "") == plain
        assert given(f"0:0:0:0:0:FFFF:{0xC633:x}:{a:02x}{b:02x}", "") == plain
