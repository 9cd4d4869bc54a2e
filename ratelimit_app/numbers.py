"""Which numbers a policy may have: exact in every store, and never nonsense."""

from collections.abc import Iterator
from decimal import Decimal

from django.core.validators import MinValueValidator

from ratelimit_app.algorithms import ALGORITHMS, BUCKETS, EXACT, sliding_window_log

#: Ten years, in seconds: what the sliding log can tell apart, and longer than anybody waits.
LONGEST = Decimal(sliding_window_log.LONGEST) / 1000

#: Said of a number below its least. Each is also the message of a field.
BELOW = {
    "limit": "limit %(show_value)s is below 0: use 0 to refuse everything, or a number above.",
    "burst": "burst %(show_value)s is below 1: leave it empty to allow the limit at once.",
    "cost": "cost %(show_value)s is below 1: use 1; to count nothing, set the mode to off.",
    "lease": "lease %(show_value)s is below 1: use 1 to ask for each request, or leave it empty.",
}
LEAST = {"limit": 0, "burst": 1, "cost": 1, "lease": 1}

#: Above this a lease saves next to nothing, and errs by as much again.
MOST_LEASED = 1000


def least(name: str) -> MinValueValidator:
    """The validator of a field for what stands in `LEAST`."""
    return MinValueValidator(LEAST[name], message=BELOW[name])


def number_problems(
    algorithm: str, limit: int, period: Decimal, burst: int | None, cost: int = 1
) -> Iterator[tuple[str, str]]:
    """Pairs of a field and why its number cannot be used."""
    milliseconds = int(period * 1000)
    low = [
        (name, BELOW[name] % {"show_value": number})
        for name, number in (("limit", limit), ("burst", burst), ("cost", cost))
        if number is not None and number < LEAST[name]
    ]
    yield from low
    if milliseconds < 1:
        yield "period", f"period {period} is too short: use at least 0.001 seconds."
    if period > LONGEST:
        yield "period", f"period {period} is too long: use at most {LONGEST} seconds (ten years)."
    if not low and milliseconds >= 1:
        yield from _together(algorithm, limit, milliseconds, burst, cost)


def lease_problem(algorithm: str, lease: int | None) -> str | None:
    """Why this lease cannot be used."""
    if lease is not None and lease < LEAST["lease"]:
        return BELOW["lease"] % {"show_value": lease}
    if algorithm == "sliding_window_log" and lease not in (None, 1):
        return (
            f"lease {lease} makes no sense for sliding_window_log, which is chosen to be exact: "
            "use 1, or choose another algorithm."
        )
    return None


def lease_for(algorithm: str, capacity: int, lease: int | None, percent: float) -> int:
    """How many units a process takes at once: as many as `lease` says, if they fit.

    Where it says nothing, so many that each process errs by `percent` of the capacity at the most.
    """
    if lease is None:
        lease = min(MOST_LEASED, int(capacity * percent / 100))
    return 1 if algorithm == "sliding_window_log" else max(1, min(lease, capacity))


def _together(
    algorithm: str, limit: int, milliseconds: int, burst: int | None, cost: int
) -> Iterator[tuple[str, str]]:
    capacity = limit if burst is None else burst
    most = (EXACT - 1) // milliseconds
    if burst is not None and algorithm in ALGORITHMS and algorithm not in BUCKETS:
        yield (
            "burst",
            f"burst {burst} has no meaning for {algorithm}: leave it empty, or choose one of "
            f"{', '.join(sorted(BUCKETS))}.",
        )
    elif capacity * milliseconds < limit:
        least = -(limit // -milliseconds)
        yield (
            "burst",
            f"burst {burst} is too small for {limit} in {milliseconds} ms, which refill more in "
            f"one millisecond: use at least {least}, or leave it empty.",
        )
    longest = sliding_window_log.LONGEST
    if burst is not None and burst * milliseconds > limit * longest > 0:
        yield (
            "burst",
            f"burst {burst} would take more than ten years to come back: use at most "
            f"{limit * longest // milliseconds}, or a higher limit.",
        )
    for name, number in (("limit", limit), ("burst", capacity)):
        if number > most and (name == "limit" or burst is not None):
            yield (
                name,
                f"{name} {number} is too large to be counted exactly over {milliseconds} ms: use "
                f"at most {most}, or a shorter period.",
            )
    if algorithm == "sliding_window_log" and limit > sliding_window_log.MOST:
        yield (
            "limit",
            f"limit {limit} is more than sliding_window_log remembers: use at most "
            f"{sliding_window_log.MOST}, or choose sliding_window_counter.",
        )
    if limit and cost > capacity:
        yield (
            "cost",
            f"cost {cost} can never fit, since at most {capacity} fit at once: use at most "
            f"{capacity}, or raise {'limit' if burst is None else 'burst'} to {cost}.",
        )
