"""What may be chosen for a policy, in words for whoever chooses."""

from decimal import Decimal

from ratelimit_app import keys
from ratelimit_app.algorithms import ALGORITHMS

MODES = {"enforce": "enforce", "shadow": "shadow", "off": "off"}

#: Who is counted.
KEYS = {kind: key.words for kind, key in keys.KEYS.items()}

#: What happens while the store does not answer.
ON_ERROR = {
    "open": "open: let everyone through",
    "closed": "closed: refuse everyone",
    "local": "local: count in each process by itself",
}

#: Of each algorithm, when to choose it and what it costs.
EXPLAINED = {
    "gcra": "a steady rate with a burst, kept as one instant. The best first choice: smallest in "
    "Redis, and waits are exact.",
    "token_bucket": "a bucket of tokens that refills steadily; a request takes tokens. Decides "
    "like gcra, in terms that most people know.",
    "leaky_bucket": "a bucket that requests fill and that leaks steadily; what would spill over "
    "is refused, nothing is queued. Decides like gcra.",
    "fixed_window": "counts from each full minute (hour, …) to the next. Easy to explain, but "
    "twice the limit may pass around the turn of a window.",
    "sliding_window_counter": "the last period, estimated from two fixed windows. Small, and "
    "never far off.",
    "sliding_window_log": "the last period, exactly: every admission is remembered, 8 bytes each. "
    "For small limits that must be exact, such as log-ins.",
}


# Callables, so that a new algorithm or key needs no migration for its name here.


def algorithm_choices() -> list[tuple[str, str]]:
    return [(name, name.replace("_", " ")) for name in ALGORITHMS]


def key_choices() -> list[tuple[str, str]]:
    return list(KEYS.items())


_UNITS = (("week", 604800), ("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))


def in_words(period: Decimal) -> str:
    """Seconds in the largest unit that they are a multiple of, to follow "per"."""
    for name, seconds in _UNITS:
        if period == seconds:
            return name
        if period > seconds and period % seconds == 0:
            return f"{int(period // seconds)} {name}s"
    return f"{period.normalize():f} seconds"
