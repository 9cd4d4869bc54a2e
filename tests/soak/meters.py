"""How much each client was admitted at most, by an account that knows nothing of algorithms."""

from collections import deque
from typing import Protocol

from .policies import Rule

#: Seconds by which a decision and what is seen of it may differ.
BLUR = 1.0


class Meter(Protocol):
    """Counts the admissions of one client under one rule."""

    def admitted(self, sent: float, came: float, ahead: float) -> bool:
        """Whether the rule allowed another one, decided between `sent` and `came`.

        `ahead` is by how many seconds Redis's clock is ahead of ours, which is since the epoch.
        """
        ...


class Windows:
    """At most `limit` in each window that is aligned to the epoch."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._window, self._count = -1, 0

    def admitted(self, sent: float, came: float, ahead: float) -> bool:
        window = int((sent + ahead) // self._rule.period)
        if window != int((came + ahead) // self._rule.period):
            # It may belong to either.
            return True
        if window != self._window:
            self._window, self._count = window, 0
        self._count += 1
        return self._count <= self._rule.limit


class Sliding:
    """At most `limit` in any stretch of `period` seconds."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._times: deque[float] = deque()

    def admitted(self, sent: float, came: float, ahead: float) -> bool:
        while self._times and self._times[0] < came - self._rule.period + BLUR:
            self._times.popleft()
        self._times.append(sent)
        return len(self._times) <= self._rule.limit


class Bucket:
    """At most `limit` at once, and what has flowed back since."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._spent, self._last = 0.0, 0.0

    def admitted(self, sent: float, came: float, ahead: float) -> bool:
        rate = self._rule.limit / self._rule.period
        self._spent = max(0.0, self._spent - rate * max(0.0, came - self._last)) + 1
        self._last = came
        return self._spent <= self._rule.limit + rate * BLUR


METERS: dict[str, type[Windows | Sliding | Bucket]] = {
    "fixed_window": Windows,
    "sliding_window_counter": Windows,
    "sliding_window_log": Sliding,
    "token_bucket": Bucket,
    "leaky_bucket": Bucket,
    "gcra": Bucket,
}
