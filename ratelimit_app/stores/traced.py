"""The real script by another clock: time is data, for the replay of traces and for tests."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from django.core.cache import BaseCache
from redis.exceptions import NoScriptError

from ratelimit_app.algorithms import Decision

from .base import Take
from .faults import CLUSTER, FAULTS, fault
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
            called = ["EVALSHA", self.taking.sha] if commands else ["EVAL", self.taking.text]
            commands.append([*called, *self.arguments([take], asked([take], spend=True))])
        replies, decisions = self._batch(commands), list[Decision]()
        for (self.now, take), reply in zip(moments, replies, strict=True):
            # A node of a cluster did nothing of what is another's: that is asked for by itself.
            elsewhere = isinstance(reply, Exception)
            decisions += self.take([take]) if elsewhere else self.decisions([take], reply)
        return decisions

    def forget(self, takes: Iterable[Take]) -> None:
        """Delete these buckets, many in one round trip."""
        keys = iter([self.bucket(take) for take in takes])
        while some := list(islice(keys, _BATCH)):
            replies = self._batch([["DEL", key] for key in some])
            for key, reply in zip(some, replies, strict=True):
                if isinstance(reply, Exception):
                    self._ask(key, "DEL", key)

    def close(self) -> None:
        """Close the connections; they are not shared with any other store."""
        self.clients.sync.connection_pool.disconnect()
        self.clients.hang_up()

    def _batch(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """The replies, among them errors of `CLUSTER` and, after these, `NoScriptError`."""
        pipeline = self.clients.sync.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)  # type: ignore[no-untyped-call]
        try:
            replies = pipeline.execute(raise_on_error=False)
        except FAULTS as error:
            raise fault(error) from error
        known = (*CLUSTER, NoScriptError) if isinstance(replies[0], CLUSTER) else CLUSTER
        for reply in replies:
            if isinstance(reply, Exception) and not isinstance(reply, known):
                raise fault(reply) from reply
        return replies
