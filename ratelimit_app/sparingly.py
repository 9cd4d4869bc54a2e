"""Logging for what happens with every request while it lasts: one line an interval."""

import logging
import time

_INTERVAL = 10.0


class Sparingly:
    """Says the first of many at once, then one line every ten seconds with how many went by."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._next = float("-inf")
        self._left_out = 0

    def warning(self, text: str, *values: object) -> None:
        """As `Logger.warning`."""
        self._say(logging.WARNING, text, values, None)

    def error(self, text: str, error: Exception, *values: object) -> None:
        """As `Logger.error`, with the traceback of `error`."""
        self._say(logging.ERROR, text, values, error)

    def _say(
        self, level: int, text: str, values: tuple[object, ...], error: Exception | None
    ) -> None:
        # Two threads at once may both speak, which does no harm.
        now = time.monotonic()
        if now < self._next:
            self._left_out += 1
            return
        left_out, self._left_out, self._next = self._left_out, 0, now + _INTERVAL
        if left_out:
            text += f" ({left_out} more since the last such line)"
        self._log.log(level, text, *values, exc_info=error)
