"""The thread of a process that looks for edits, sweeps idle buckets and says that it is alive."""

import logging
import threading
import time
from contextlib import suppress
from typing import Protocol

from . import sources, stores
from .conf import conf
from .policies import Snapshot
from .sparingly import Sparingly
from .stores.base import BEAT
from .stores.memory import MemoryStore

log = logging.getLogger("ratelimit_app")

#: Seconds to the next look after one that failed for a reason nobody thought of.
_PAUSE = 0.5


class Kept(Protocol):
    """What the thread must know of the keeper of the snapshot."""

    snapshot: Snapshot | None
    stale: bool
    loaded: float

    def look(self) -> None:
        """Load the table if it was edited."""
        ...


class Watch(threading.Thread):
    """Looks every `REFRESH` seconds, or when woken."""

    def __init__(self, keeper: Kept) -> None:
        super().__init__(name="ratelimit", daemon=True)
        #: Whether this process runs threads at all.
        self.runs = False
        self._keeper = keeper
        self._woken = threading.Event()
        self._next_beat = 0.0
        self._failed = Sparingly(log)

    def wake(self) -> None:
        """Look now."""
        self._woken.set()

    def run(self) -> None:
        """See `Thread.run`."""
        pause = 0.0
        while True:
            self._woken.wait(pause)
            self._woken.clear()
            self.runs = True
            try:
                pause = conf().refresh
                self._look()
                self._upkeep()
            except Exception as error:
                pause = max(pause, _PAUSE)
                self._failed.error("The policies could not be refreshed.", error)

    def _look(self) -> None:
        loaded = self._keeper.loaded
        self._keeper.look()
        # A store that is not shared asks the database often, by one connection, but not for longer
        # than from load to load: it may be broken, or lead to a file that went.
        shared = not isinstance(stores.current(), MemoryStore)
        if shared or self._keeper.stale or self._keeper.loaded != loaded:
            sources.hang_up()

    def _upkeep(self) -> None:
        """What is due every few seconds. A beat is a write, so only where a policy needs it."""
        now = time.monotonic()
        if now < self._next_beat:
            return
        self._next_beat = now + BEAT
        stores.sweep()
        snapshot = self._keeper.snapshot
        if snapshot is not None and snapshot.counts_processes:
            with suppress(stores.Unavailable):
                stores.current().beat()
