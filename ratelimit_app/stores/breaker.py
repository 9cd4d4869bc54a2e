"""A circuit breaker: after several failures in a row only one probe at a time waits for Redis."""

import threading
import time
from collections.abc import Callable


class Breaker:
    """Opens after `failures` in a row; from then on one call every `pause` seconds may try.

    It closes with the first call that is answered. Safe among threads and tasks. A probe that never
    reports (its task was cancelled) counts as failed after `pause`.
    """

    __slots__ = ("_failed", "_lock", "_most", "_now", "_pause", "_retry_at")

    def __init__(
        self, failures: int = 5, pause: float = 0.5, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = failures
        self._pause = pause
        self._now = now
        self._lock = threading.Lock()
        self._failed = 0
        self._retry_at = 0.0

    @property
    def is_open(self) -> bool:
        """Whether calls are answered without asking Redis."""
        return self._failed >= self._most

    @property
    def suspect(self) -> bool:
        """Whether the last call failed."""
        return self._failed > 0

    def allows(self) -> bool:
        """Whether this call may ask Redis; it must then report by `answered` or `failed`."""
        if self._failed < self._most:
            return True
        with self._lock:
            now = self._now()
            if self._failed >= self._most and now < self._retry_at:
                return False
            # This call is the probe; the next one has to wait for it, or for its time to pass.
            self._retry_at = now + self._pause
            return True

    def answered(self) -> None:
        """Redis answered, in whatever way."""
        if self._failed:
            with self._lock:
                self._failed = 0

    def failed(self) -> None:
        """Redis did not answer."""
        with self._lock:
            self._failed += 1
            self._retry_at = self._now() + self._pause
