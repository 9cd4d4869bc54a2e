"""The six algorithms: pure functions, each written twice under one stem, in Python and in Lua."""

from . import (
    fixed_window,
    gcra,
    leaky_bucket,
    sliding_window_counter,
    sliding_window_log,
    token_bucket,
)
from .base import EXACT, NEVER, Algorithm, Decision, Given, Limit, Splice, State, Taken

#: Where a new algorithm is entered. The names are stored in rows and keys: never rename one.
ALGORITHMS: dict[str, Algorithm] = {
    "fixed_window": fixed_window,
    "sliding_window_log": sliding_window_log,
    "sliding_window_counter": sliding_window_counter,
    "token_bucket": token_bucket,
    "leaky_bucket": leaky_bucket,
    "gcra": gcra,
}

#: Those whose capacity, `burst`, may differ from their `limit`.
BUCKETS = frozenset({"token_bucket", "leaky_bucket", "gcra"})

__all__ = [
    "ALGORITHMS",
    "BUCKETS",
    "EXACT",
    "NEVER",
    "Algorithm",
    "Decision",
    "Given",
    "Limit",
    "Splice",
    "State",
    "Taken",
]
