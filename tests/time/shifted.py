"""Processes whose wall clock is in the test's hand, while they run: see shim.c."""

import mmap
import struct
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from django.core.cache import BaseCache

from ratelimit_app.stores.base import Take
from ratelimit_app.stores.redis import RedisStore

SHIM = Path(__file__).parent / "shim.c"


class Clock:
    """A wall clock to start processes under, with `env`; it stands still until it is set."""

    def __init__(self, folder: Path) -> None:
        library, path = folder / "shim.so", folder / "clock"
        options = ["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"]
        command = ["cc", *options, str(library), str(SHIM)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        path.write_bytes(bytes(16))
        with path.open("r+b") as file:
            self._file = mmap.mmap(file.fileno(), 16)
        self.env = {"LD_PRELOAD": str(library), "SHIFTED_CLOCK": str(path)}

    def set(self, ms: int) -> None:
        """It stands at this millisecond since the epoch."""
        struct.pack_into("=qq", self._file, 0, ms * 1000, 0)

    def run(self, ahead: int) -> None:
        """It runs, so many milliseconds ahead of the machine's."""
        struct.pack_into("=qq", self._file, 0, ahead * 1000, 1)


class ShiftedRedisStore(RedisStore):
    """The store as sites use it, script, expiry and all, on a Redis that runs by `clock`.

    `now` gives the time that the clock of Redis shows at the next call: milliseconds since the
    epoch.
    """

    def __init__(self, cache: BaseCache, clock: Clock) -> None:
        super().__init__(cache, timeout=20)
        self.now: Callable[[], int] = lambda: 0
        self._clock = clock

    def arguments(self, takes: Sequence[Take], words: Sequence[bytes]) -> list[Any]:
        self._clock.set(self.now())
        return super().arguments(takes, words)
