"""The numbers that a policy may have, up to the bound of what is exact; and states out of Redis."""

from hypothesis import strategies as st

from ratelimit_app.algorithms import BUCKETS, EXACT, Limit, State
from ratelimit_app.algorithms.sliding_window_log import LONGEST, MOST

#: The clock never leaves this span (to the year 3084), so that an instant ahead is still exact.
LATEST = 2**45


def decoded(algorithm: str, value: bytes | None) -> State | None:
    """A value of Redis as the state that the algorithm's twin keeps."""
    if value is None or algorithm == "sliding_window_log":
        return value
    if algorithm == "gcra":
        ms, _, fraction = value.decode().partition(":")
        return int(ms) << 53 | int(fraction or 0)
    return tuple(int.from_bytes(value[at : at + 7], "big") for at in range(0, len(value), 7))


def largest(algorithm: str, limit: int, period: int) -> int:
    """The largest capacity that is counted exactly."""
    if algorithm == "sliding_window_log":
        return min((EXACT - 1) // period, MOST)
    # A bucket may take 100,000 years to fill. GCRA writes the year down, and it must be exact.
    return min(EXACT - 1, (EXACT - 2 * LATEST) * limit) // period


def fits(algorithm: str, limit: Limit) -> bool:
    """Whether a validator lets the numbers through."""
    rate, period, burst = limit
    return (
        max(rate, burst) <= largest(algorithm, rate, period)
        and burst * period >= rate
        and period <= LONGEST
    )


@st.composite
def limits(draw: st.DrawFn, algorithm: str) -> Limit:
    """From the smallest numbers up to all that a validator lets through."""
    size = draw(st.sampled_from(["small", "any", "edge"]))
    if size == "small":
        limit, period = draw(st.integers(1, 30)), draw(st.integers(1, 5000))
        most = 40
    else:
        # As often short as long: nearly all integers below 2**53 have 50 bits or more.
        period = draw(st.integers(1, 2 ** draw(st.integers(1, 38))))
        limit = draw(st.integers(1, 2 ** draw(st.integers(1, 53))))
        limit = min(limit, largest(algorithm, EXACT, period))
        most = largest(algorithm, limit, period)
    if algorithm not in BUCKETS:
        return Limit(*(most, period, most) if size == "edge" else (limit, period, limit))
    if size == "edge":
        return Limit(limit, period, most - draw(st.integers(0, min(3, most - limit))))
    least = -(limit // -period)
    return Limit(limit, period, draw(st.integers(least, max(least, most))))
