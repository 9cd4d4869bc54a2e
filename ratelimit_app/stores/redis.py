"""Buckets in Redis: one script decides any number of them in one round trip, by Redis's clock."""

import uuid
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import redis
from asgiref.sync import sync_to_async
from django.core.cache import BaseCache
from django.core.cache.backends.base import default_key_func

from ratelimit_app.algorithms import Decision

from .base import BEAT, Take, Unavailable, decision, spent, text
from .breaker import Breaker
from .clients import Clients
from .faults import ANSWERED, FIXES, fault
from .script import FORMAT, REAL_TIME, Script, alive, asked, given, script, unpacked


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
        self._script, self._giving = script(self.seam), script(self.seam, "give")
        self._version = self.key(f"{FORMAT}:version")
        self._alive = self.key(f"{FORMAT}:alive")
        self._process = uuid.uuid4().hex
        self.processes = 1
        self._beats: deque[int] = deque(maxlen=3)

    def take(self, takes: Sequence[Take], *, spend: bool = True) -> list[Decision]:
        """See `Store.take`."""
        reply = self._run(self._script, takes, asked(takes, spend))
        return self._decisions(takes, reply)

    async def atake(self, takes: Sequence[Take], *, spend: bool = True) -> list[Decision]:
        """See `Store.atake`."""
        if self.clients.by_sentinel:
            return await sync_to_async(self.take, thread_sensitive=False)(takes, spend=spend)
        reply = await self._arun(self._script, takes, asked(takes, spend))
        return self._decisions(takes, reply)

    def give(
        self,
        takes: Sequence[Take],
        since: int | None = None,
        decisions: Sequence[Decision] = (),
    ) -> None:
        """See `Store.give`."""
        if gifts := spent(takes, decisions):
            takes = [take for take, _ in gifts]
            self._gave(takes, self._run(self._giving, takes, given(gifts, since)))

    async def agive(
        self,
        takes: Sequence[Take],
        since: int | None = None,
        decisions: Sequence[Decision] = (),
    ) -> None:
        """See `Store.agive`."""
        if self.clients.by_sentinel:
            await sync_to_async(self.give, thread_sensitive=False)(takes, since, decisions)
        elif gifts := spent(takes, decisions):
            takes = [take for take, _ in gifts]
            self._gave(takes, await self._arun(self._giving, takes, given(gifts, since)))

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
        self._beats.append(found)
        # A Redis that has lost everything knows of nobody else until they have said so again.
        self.processes = max(self._beats)

    def version(self) -> str | None:
        """See `Store.version`. No key (nobody announced yet, or a flush) is a token too."""
        found = self._ask("GET", self._version)
        return found.decode(errors="replace") if isinstance(found, bytes) else str(found or "")

    def announce(self, token: str) -> None:
        """See `Store.announce`."""
        self._ask("SET", self._version, token)

    def question(self, *command: Any) -> Any:
        """Ask for a person what only reads, past the breaker. Raises `Unavailable`."""
        try:
            return self._call(*command)
        except Exception as error:
            raise fault(error) from error

    def arguments(self, takes: Sequence[Take], words: Sequence[bytes]) -> list[Any]:
        """What follows the script in EVALSHA: the keys, and what is asked of them."""
        return [len(takes), *map(self.bucket, takes), *words]

    def bucket(self, take: Take) -> str:
        """The key of a bucket. The braces are Redis Cluster's hash tag: one identity, one slot."""
        return self.key(f"{FORMAT}:{{{text(take.identity)}}}{take.quota.tag}")

    def _run(self, script: Script, takes: Sequence[Take], words: Sequence[bytes]) -> Any:
        self._may_ask()
        arguments = self.arguments(takes, words)
        try:
            try:
                return self._call("EVALSHA", script.sha, *arguments)
            except redis.exceptions.NoScriptError:
                # Nothing was done yet, so asking again charges once.
                return self._call("EVAL", script.text, *arguments)
        except Exception as error:
            # Whatever is on that port may make redis-py raise anything at all.
            raise self._failed(error) from error

    async def _arun(self, script: Script, takes: Sequence[Take], words: Sequence[bytes]) -> Any:
        self._may_ask()
        arguments = self.arguments(takes, words)
        call = self.clients.here().call
        try:
            try:
                return await call("EVALSHA", script.sha, *arguments)
            except redis.exceptions.NoScriptError:
                return await call("EVAL", script.text, *arguments)
        except Exception as error:
            # Whatever is on that port may make redis-py raise anything at all.
            raise self._failed(error) from error

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

    def _gave(self, takes: Sequence[Take], reply: Any) -> None:
        if type(reply) is not int or reply != len(takes):
            raise Unavailable(f"not a reply of the script: {reply!r:.80}", "reply")
        self.breaker.answered()

    def _decisions(self, takes: Sequence[Take], reply: Any) -> list[Decision]:
        # Whatever is on that port, only a reply of ours is an answer. Its last number is the clock,
        # which is the `since` of a give-back.
        if (
            not isinstance(reply, list)
            or len(reply) != 4 * len(takes) + 1
            or {*map(type, reply)} != {int}
            or min(reply) < -1
            or reply[-1] < 0
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
