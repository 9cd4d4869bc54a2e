"""Redis's clock steps while it runs: at most a bucket a step, no lock-out, nothing left behind."""

import pytest

from ratelimit_app.algorithms import ALGORITHMS
from ratelimit_app.conformance import MakeStore
from ratelimit_app.conformance.stories import assert_coherent
from ratelimit_app.conformance.subject import MIDNIGHT, Subject, quota
from ratelimit_app.stores import Quota
from tests.servers import RedisServer

from .shifted import ShiftedRedisStore

pytestmark = pytest.mark.system

HOUR = 3600
#: Half-way through a window, so that a second to and fro stays inside of it.
START = MIDNIGHT + 30_000

#: Steps of the clock in seconds; how many of ten a minute are admitted after each, all being spent
#: before; and of whom that is not true.
SCENARIOS = {
    "back an hour": ([-HOUR], [0], {}),
    "forward an hour": ([HOUR], [10], {}),
    # Half of the window before still shows.
    "back a period, and on": ([-61, 61], [0, 10], {"sliding_window_counter": [0, 5]}),
    "forward, and put right": ([HOUR, -HOUR], [10, 0], {}),
    # A refusal writes nothing, so that the second is not credited anew by each tooth.
    "a saw of a second": ([-1, 1] * 20, [0] * 40, {}),
    # The edge of a window is crossed by each tooth.
    "a saw across an edge": (
        [-31, 31] * 3,
        [0, 0] * 3,
        {
            "fixed_window": [0, 10] * 3,
            # Half of the window before shows on this side of the edge, and nothing on the other.
            "sliding_window_counter": [0, 5, 5, 5, 5, 5],
            "token_bucket": [0, 5] * 3,
            "leaky_bucket": [0, 5] * 3,
            "gcra": [0, 5] * 3,
        },
    ),
}


def drain(subject: Subject, asked: Quota) -> int:
    """How many are admitted now; each answer is one that can be."""
    longest = subject.longest_wait(asked)
    for admitted in range(asked.limit.burst + 1):
        decision = subject.take(asked)
        assert_coherent(decision, asked, 1)
        if not decision.allowed:
            assert decision.retry_after is not None
            assert decision.retry_after <= longest
            return admitted
    raise AssertionError("more than a full bucket was admitted in one moment")


@pytest.mark.parametrize("scenario", list(SCENARIOS))
@pytest.mark.parametrize("algorithm", list(ALGORITHMS))
def test_a_clock_that_steps(make_store: MakeStore, algorithm: str, scenario: str):
    subject, ten = Subject(make_store, START), quota(algorithm, 10, 60)
    steps, admitted, others = SCENARIOS[scenario]
    assert drain(subject, ten) == 10

    found = []
    for step in steps:
        subject.wait(step)
        found.append(drain(subject, ten))

    assert found == others.get(algorithm, admitted)
    last = subject.take(ten)
    assert last.retry_after
    subject.wait(last.retry_after)
    assert subject.take(ten).allowed


@pytest.mark.parametrize("step", [-HOUR, -61, -1, 0, 1, HOUR])
@pytest.mark.parametrize("algorithm", list(ALGORITHMS))
def test_whatever_the_clock_does_a_bucket_expires_with_its_reset(
    make_store: MakeStore,
    shifted_store: ShiftedRedisStore,
    shifted_redis: RedisServer,
    algorithm: str,
    step: int,
):
    subject, ten = Subject(make_store, START), quota(algorithm, 10, 60)
    with shifted_redis.client() as client:
        client.flushall()
        for _ in range(11):
            subject.take(ten)
        subject.wait(step)
        # Refused, or admitted where an hour has passed: mended or written.
        last = subject.take(ten)
        (key,) = client.keys()
        assert key.decode() == shifted_store.bucket(subject.asked(ten))
        assert client.pttl(key) == round(last.reset_after * 1000)

        # Redis keeps a key through the millisecond in which it expires.
        subject.wait(last.reset_after)
        subject.look(ten)
        assert client.keys() == [key]
        subject.wait(0.001)
        subject.look(ten)
        assert client.keys() == []
