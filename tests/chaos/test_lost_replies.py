"""Commands arrive and their answers are lost: a request is charged once or not at all."""

import time
from collections import Counter

import pytest

from .conftest import DEFAULTS, THREADS, load
from .load import Asked
from .outcomes import KINDS, LIMIT, assert_answered, between, figures, share, source

pytestmark = pytest.mark.chaos


def fresh(number):
    """Everybody asks once."""
    return Asked(f"/{KINDS[number % 3]}/", f"new-{number}")


@pytest.mark.parametrize("mode", ["drop_reply", "reset", "drip"])
def test_a_request_is_never_charged_twice(make, server, proxy, mode):
    """`drip` sends a byte each 30 ms: no single wait is long, and all together are."""
    gunicorn = make(proxy.url).gunicorn(2, *THREADS)
    gunicorn.wait(2)
    client = server.client()
    proxy.delay = 0.03

    with load(gunicorn, asks=fresh) as requests:
        time.sleep(1)
        proxy.mode = mode
        time.sleep(4)
        proxy.mode = "pass"
        back = time.monotonic()
        time.sleep(2)
    asked = [each.asked for each in requests.seen]
    stats = client.info("commandstats")
    with load(gunicorn, asks=lambda number: asked[number % len(asked)]) as again:
        while again.sent < len(asked):
            time.sleep(0.05)

    seen = requests.seen
    assert_answered(seen, requests.sent)
    assert {source(each.answer) for each in between(seen, back + 1)} == {"redis"}
    # Who waits for a thread waits for as long as another decision may take.
    assert share(seen, 1) <= 2 * DEFAULTS["DEADLINE"]
    # What is left after the second time tells whether the first time was charged.
    first = {each.asked: source(each.answer) for each in seen}
    charged = Counter(
        (first[each.asked] == "redis", LIMIT - 1 - (each.answer.remaining or 0))
        for each in again.seen[: len(asked)]
    )
    print(f"{mode}: {figures(seen)}; charged before, by Redis's word or not: {dict(charged)}")
    assert charged[True, 1] == Counter(first.values())["redis"]
    assert set(charged) <= {(True, 1), (False, 0), (False, 1)}
    assert stats["cmdstat_evalsha"]["calls"] <= requests.sent + 4
