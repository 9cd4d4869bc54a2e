"""Keeps the snapshot of policies fresh: a process obeys an edit within a second of its commit.

A thread looks every `REFRESH` seconds whether anybody announced an edit and loads the table anew if
so, or every `RELOAD` seconds in any case. On Redis the announcement is a token beside the buckets;
where processes share no memory it is the fingerprint of the table itself. Requests only read the
snapshot; the first one of a process loads it.
"""

import logging
import os
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from asgiref.sync import sync_to_async
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, InterfaceError, connections, transaction

from . import digests, sources, stores, testrun
from .conf import conf
from .policies import Snapshot
from .watch import Watch

log = logging.getLogger("ratelimit_app")

_FAULTS = (DatabaseError, InterfaceError, ImproperlyConfigured)
#: After a failure the database is left alone: doubled each time, in seconds.
_BACK_OFF, _LONGEST_BACK_OFF = 0.5, 30.0


class Keeper:
    """Holds the snapshot of this process and knows how old it is."""

    def __init__(self) -> None:
        self.snapshot: Snapshot | None = None
        self._lock = threading.Lock()
        self._thread: Watch | None = None
        self._seen: str | None = None
        self._scope: object = None
        self._pinned: Snapshot | None = None
        self.stale = False
        #: Why the table could not be read the last time.
        self.failed: str | None = None
        self._overdue = self.loaded = self._not_before = float("-inf")
        self._back_off = _BACK_OFF

    def current(self) -> Snapshot:
        """The snapshot; loads it if there is none, in the caller's thread."""
        if self._pinned is not None:
            return self._pinned
        if (snapshot := self._fresh()) is not None:
            return snapshot
        self._look_here()
        return self.snapshot or Snapshot(())

    async def acurrent(self) -> Snapshot:
        """`current`, without blocking the event loop."""
        if self._pinned is not None:
            return self._pinned
        if (snapshot := self._fresh()) is not None:
            return snapshot
        return await sync_to_async(self.current)()

    @contextmanager
    def pinned(self, snapshot: Snapshot) -> Iterator[None]:
        """This snapshot and no other, for tests."""
        before, self._pinned = self._pinned, snapshot
        try:
            yield
        finally:
            self._pinned = before

    def forget(self) -> None:
        """Load anew before the next answer; what was edited in this process is seen at once."""
        self.snapshot = None
        self._not_before = float("-inf")

    def committed(self) -> None:
        """An edit of this process is committed: tell the others, and look soon."""
        self.stale = True
        try:
            stores.current().announce(uuid.uuid4().hex)
        except (stores.Unavailable, ImproperlyConfigured) as error:
            log.warning(
                "The edit of a policy could not be announced (%s); other processes that can reach "
                "the store obey it within RELOAD (%s s).",
                error,
                conf().reload,
            )
        if self._thread is not None:
            self._thread.wake()

    def look(self) -> None:
        """Load the table if it was edited, or if `RELOAD` is over. Never raises a store's fault."""
        missing = self.snapshot is None
        if not self._lock.acquire(blocking=missing):
            return
        try:
            if missing and self.snapshot is not None:
                # Somebody else has loaded it meanwhile: a process that starts asks once.
                return
            self._look(time.monotonic())
            self._overdue = time.monotonic() + max(1, 2 * conf().refresh)
        finally:
            self._lock.release()

    def _look(self, now: float) -> None:
        try:
            token = stores.current().version()
        except stores.Unavailable:
            # Nobody can be told of an edit now: look at the table itself.
            token = None
        shared = token is not None
        # A new token ends the pause after a failure: whoever left it has just reached the database.
        if now < self._not_before and (not shared or token == self._seen):
            return
        try:
            with _savepoint() as inside:
                if not shared:
                    token = sources.fingerprint()
                due = self.stale or token != self._seen or now - self.loaded >= conf().reload
                if self.snapshot is None or due:
                    # What the caller's transaction has written may be rolled back yet: look again.
                    self.stale = inside
                    self.snapshot = Snapshot(sources.rows())
                    self.loaded = now
            self.failed = None
            self._back_off, self._not_before = _BACK_OFF, float("-inf")
        except _FAULTS as error:
            self._failed(error)
        self._seen = token

    def _failed(self, error: Exception) -> None:
        """Keep the last good snapshot; without one serve the policies of the settings."""
        self.stale = True
        self._not_before = time.monotonic() + self._back_off
        self._back_off = min(2 * self._back_off, _LONGEST_BACK_OFF)
        kept = "the last policies are kept"
        if self.snapshot is None:
            kept = "the policies of RATELIMIT['POLICIES'] are used"
            self.snapshot = Snapshot(sources.from_settings())
        # One line, whatever the database adds to it.
        self.failed = f"{type(error).__name__}: {' '.join(str(error).split())}"
        log.warning("The policies could not be read (%s); %s.", self.failed, kept)

    def _fresh(self) -> Snapshot | None:
        """The snapshot, unless it is this caller's to look for another."""
        snapshot = self.snapshot
        if testrun.is_on():
            return snapshot if self._scope == testrun.transactions() else None
        thread = self._thread or self._start()
        # Threads may never run at all (uWSGI without them): then requests look.
        return snapshot if thread.runs or time.monotonic() < self._overdue else None

    def _look_here(self) -> None:
        if testrun.is_on():
            # A test's transaction is seen by its own thread alone, and is rolled back unannounced.
            scope = testrun.transactions()
            if scope != self._scope:
                self._scope = scope
                digests.freshen()
            self.forget()
        with sources.borrowed():
            self.look()

    def _start(self) -> Watch:
        with self._lock:
            if self._thread is None:
                self._thread = Watch(self)
                self._thread.start()
            return self._thread


@contextmanager
def _savepoint() -> Iterator[bool]:
    """Whether the caller has a transaction; if so, a failure inside the block does not break it."""
    inside = connections[sources.alias()].in_atomic_block
    with transaction.atomic(using=sources.alias()) if inside else nullcontext():
        yield inside


def changed(*, using: str, **_: object) -> None:
    """Receives `policies_changed`: others are told after the commit, and never if none comes."""
    if testrun.is_on():
        keeper.forget()
    transaction.on_commit(keeper.committed, using=using, robust=True)


def _after_fork() -> None:
    """A child has no thread, and its snapshot may be old: start anew."""
    keeper.__init__()  # type: ignore[misc]


keeper = Keeper()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
