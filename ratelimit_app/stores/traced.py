"""The real script by another clock: time is data, for the replay of traces and for tests."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from django.core.cache import BaseCache

from ratelimit_app.algorithms import Decision

from .base import Take
from .faults import FAULTS, fault
from .redis import RedisStore
from .script import asked

#: The trace's clock comes with each call. Its expiry means nothing here, since it runs by Redis's
#: clock: an old bucket decides like a fresh one anyway. An hour is the net below the clean-up.
TRACE_TIME = """
local function clock() return tonumber(ARGV[#ARGV]) end
local function lifetime() return 3600000 end
"""

#: How many keys are deleted in one round trip.
_BATCH = 500


class TraceRedisStore(RedisStore):
    """See `RedisStore`. `now` is its clock, in milliseconds since the epoch; set it as you like.

    Buckets outlive what the trace says, so give each run a tag of its own and `forget` its takes.
    """

    seam = TRACE_TIME

    def __init__(self, cache: BaseCache, timeout: float, now: int = 0) -> None:
        super().__init__(cache, timeout)
        self.now = now

    def arguments(self, takes: Sequence[Take], words: Sequence[bytes]) -> list[Any]:
        """See `RedisStore.arguments`; the time comes last."""
        return [*super().arguments(takes, words), self.now]

    def take_each(self, moments: Iterable[tuple[int, Take]]) -> list[Decision]:
        """Take one after the other, each at its own time, in one round trip."""
        moments = list(moments)
        commands: list[list[Any]] = []
        for self.now, take in moments:
            # The first brings the script, so that Redis knows it by name for the rest.
            called = ["EVALSHA", self._script.sha] if commands else ["EVAL", self._script.text]
            commands.append([*called, *self.arguments([take], asked([take], spend=True))])
        replies = self._batch(commands)
        return [
            self._decisions([take], reply)[0]
            for (_, take), reply in zip(moments, replies, strict=True)
        ]

    def forget(self, takes: Iterable[Take]) -> None:
        """Delete these buckets, many in one round trip."""
        keys = iter([self.bucket(take) for take in takes])
        while some := list(islice(keys, _BATCH)):
            self._batch([["DEL", key] for key in some])

    def close(self) -> None:
        """Close the connections; they are not shared with any other store."""
        self.clients.sync.connection_pool.disconnect()
        self.clients.wire.hang_up()

    def _batch(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        pipeline = self.clients.sync.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)  # type: ignore[no-untyped-call]
        try:
            return pipeline.execute()
        except FAULTS as error:
            raise fault(error) from error
