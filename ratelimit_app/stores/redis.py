"""Buckets in Redis: one script decides any number of them in one round trip, by Redis's clock."""

import uuid
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import redis
from asgiref.sync import sync_to_async
from django.core.cache import BaseCache
from django.core.cache.backends.base import default_key_func

from ratelimit_app.algorithms import Decision

from .base import BEAT, Take, Unavailable, decision, text
from .breaker import Breaker
from .clients import Clients
from .faults import ANSWERED, FIXES, fault
from .script import FORMAT, REAL_TIME, alive, packed, script, unpacked


class RedisStore:
    """See `Store`. `cache` is a Redis alias of django-redis or Django; `timeout` is seconds."""

    name = "redis"
    #: The clock of the script, in Lua; a store for traces or tests has another.
    seam: ClassVar[str] = REAL_TIME

    def __init__(self, cache: BaseCache, timeout: float, deadline: float | None = None) -> None:
        self.clients = Clients(cache, timeout, deadline or 2.5 * timeout)
        self.breaker = Breaker()
        self._call = self.clients.wire.call
        self.key = _key_maker(cache)
        self._script = script(self.seam)
        self._version = self.key(f"{FORMAT}:version")
        self._alive = self.key(f"{FORMAT}:alive")
        self._process = uuid.uuid4().hex
        self.processes = 1

    def take(self, takes: Sequence[Take], *, spend: bool = True) -> list[Decision]:
        """See `Store.take`."""
        self._may_ask()
        arguments = self.arguments(takes, spend)
        try:
            try:
                reply = self._call("EVALSHA", self._script.sha, *arguments)
            except redis.exceptions.NoScriptError:
                # Nothing was done yet, so asking again charges once.
                reply = self._call("EVAL", self._script.text, *arguments)
        except Exception as error:
            # Whatever is on that port may make redis-py raise anything at all.
            raise self._failed(error) from error
        return self._decisions(takes, reply)

    async def atake(self, takes: Sequence[Take], *, spend: bool = True) -> list[Decision]:
        """See `Store.atake`."""
        if self.clients.by_sentinel:
            return await sync_to_async(self.take, thread_sensitive=False)(takes, spend=spend)
        self._may_ask()
        arguments = self.arguments(takes, spend)
        call = self.clients.here().call
        try:
            try:
                reply = await call("EVALSHA", self._script.sha, *arguments)
            except redis.exceptions.NoScriptError:
                reply = await call("EVAL", self._script.text, *arguments)
        except Exception as error:
            # Whatever is on that port may make redis-py raise anything at all.
            raise self._failed(error) from error
        return self._decisions(takes, reply)

    def reset(self, takes: Sequence[Take]) -> None:
        """See `Store.reset`."""
        for take in takes:
            self._ask("DEL", self.bucket(take))

    def beat(self) -> None:
        """See `Store.beat`. A process counts for three beats after its last one."""
        ms = str(round(3000 * BEAT))
        found = self._ask("EVAL", alive(), 1, self._alive, self._process, ms)
        if not isinstance(found, int):
            raise Unavailable(f"not a reply of the script: {found!r:.80}", "reply")
        self.processes = found

    def version(self) -> str | None:
        """See `Store.version`. No key (nobody announced yet, or a flush) is a token too."""
        found = self._ask("GET", self._version)
        return found.decode(errors="replace") if isinstance(found, bytes) else str(found or "")

    def announce(self, token: str) -> None:
        """See `Store.announce`."""
        self._ask("SET", self._version, token)

    def arguments(self, takes: Sequence[Take], spend: bool) -> list[Any]:
        """What follows the script in EVALSHA."""
        return [
            len(takes),
            *map(self.bucket, takes),
            b"1" if spend else b"0",
            *map(packed, takes),
        ]

    def bucket(self, take: Take) -> str:
        """The key of a bucket. The braces are Redis Cluster's hash tag: one identity, one slot."""
        return self.key(f"{FORMAT}:{{{text(take.identity)}}}{take.quota.tag}")

    def _ask(self, *command: Any) -> Any:
        self._may_ask()
        try:
            reply = self._call(*command)
        except Exception as error:
            # Whatever is on that port may make redis-py raise anything at all.
            raise self._failed(error) from error
        self.breaker.answered()
        return reply

    def _may_ask(self) -> None:
        if not self.breaker.allows():
            raise Unavailable(FIXES["breaker"], "breaker")

    def _failed(self, error: Exception) -> Unavailable:
        found = fault(error)
        if found.kind in ANSWERED:
            self.breaker.answered()
        elif found.kind != "pool":
            # That all connections are in use says nothing of Redis.
            self.breaker.failed()
        return found

    def _decisions(self, takes: Sequence[Take], reply: Any) -> list[Decision]:
        # Whatever is on that port, only a reply of ours is an answer.
        if (
            not isinstance(reply, list)
            or len(reply) != 4 * len(takes)
            or not {*map(type, reply)} <= {int}
            or min(reply, default=0) < -1
        ):
            raise Unavailable(f"not a reply of the script: {reply!r:.80}", "reply")
        self.breaker.answered()
        return [
            decision(take.quota, *numbers, self.name)
            for take, numbers in zip(takes, unpacked(reply), strict=True)
        ]


def _key_maker(cache: BaseCache) -> Callable[[str], str]:
    """`cache.make_key`; the usual one only puts a prefix before, which is asked for once."""
    usual = f"{cache.key_prefix}:{cache.version}:"
    if cache.key_func is default_key_func and str(cache.make_key("{a}b")) == usual + "{a}b":
        return usual.__add__
    return lambda raw: str(cache.make_key(raw))
