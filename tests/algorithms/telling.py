"""Plain random histories on both twins, many steps in one trip: what the mutants are tried against.

The machine in `twins` searches better and tells failures in few steps; this is a hundred times
faster, and looks at the expiry too.
"""

from typing import Any

from ratelimit_app.algorithms import NEVER
from ratelimit_app.stores.base import spent
from ratelimit_app.stores.script import asked, given
from ratelimit_app.stores.traced import TraceRedisStore
from tests.algorithms.histories import History, Step
from tests.algorithms.numbers import decoded

#: A millisecond of expiry lasts so many real ones: what is left of it then tells what was set.
SLOWLY = 2**18
#: Redis does not take more, that slowly.
LONGEST_LIFE = 2**43


class SlowRedisStore(TraceRedisStore):
    """The clock is the trace's; expiry is so slow that nothing goes, and that it can be read."""

    seam = f"""
    local function clock() return tonumber(ARGV[#ARGV]) end
    local function lifetime(ms) return math.min(ms, {LONGEST_LIFE}) * {SLOWLY} end
    """


def tell(redis: SlowRedisStore, algorithm: str, seed: int, count: int) -> None:
    """One history on Python, then on Lua in one trip; the same answers, states and expiry."""
    told = list(History(algorithm, seed).steps(count))
    scripts = redis.taking, redis.giving
    commands: list[list[Any]] = [["SCRIPT", "LOAD", script.text] for script in scripts]
    for step in told:
        keys, redis.now = [redis.bucket(take) for take in step.takes], step.now
        commands.append(_called(redis, step))
        commands += [[name, key] for key in keys for name in ("GET", "PTTL")]
    replies = iter(redis._batch(commands)[len(scripts) :])
    for step in told:
        answer = next(replies)
        _compare(redis, step, answer, [next(replies) for _ in range(2 * len(step.takes))])


def _called(redis: SlowRedisStore, step: Step) -> list[Any]:
    """The command of a step."""
    if step.call == "reset":
        return ["DEL", *map(redis.bucket, step.takes)]
    if step.call == "give":
        gifts = spent(step.takes, step.decisions)
        takes = [take for take, _ in gifts]
        called = redis.arguments(takes, given(gifts, step.since))
        return ["EVALSHA", redis.giving.sha, *called]
    called = redis.arguments(step.takes, asked(step.takes, step.call == "take"))
    return ["EVALSHA", redis.taking.sha, *called]


def _compare(redis: SlowRedisStore, step: Step, answer: Any, kept: list[Any]) -> None:
    resets = []
    if step.call in ("take", "look"):
        decisions = redis.decisions(step.takes, answer)
        assert [each._replace(source="memory") for each in decisions] == step.decisions, step
        assert answer[-1] == step.now, step
        for at, decision in enumerate(decisions):
            assert decision.retry_after is not None or answer[4 * at + 2] == NEVER, step
        # To the millisecond; as seconds the longest ones are rounded.
        resets = answer[3::4]
    elif step.call == "give":
        assert answer == len([take for take in step.takes if take.cost]), step
        resets = [
            take.quota.take(state, take.quota.limit, 0, step.now)[-1]
            for take, state in zip(step.takes, step.states, strict=True)
        ]
    for at, (take, state) in enumerate(zip(step.takes, step.states, strict=True)):
        name, value, left = take.quota.algorithm, *kept[2 * at : 2 * at + 2]
        assert decoded(name, value) == state, step
        if state is None:
            continue
        assert left > 0, step
        if step.written[at]:
            reset = resets[at]
            assert -(left // -SLOWLY) == min(max(1, reset), LONGEST_LIFE), step
            ends = take.quota.twin.expires(state, take.quota.limit)
            assert ends >= step.now + reset, step
            if name == "sliding_window_counter":
                # It may be like new before its second window ends.
                period = take.quota.limit.period
                assert ends == (state[0] // period + 2) * period, step
            elif step.call != "give":
                # A give-back leaves the time of the last write, which may be ahead.
                assert ends == step.now + reset, step
