"""Buckets in Redis: one script decides any number of them in one round trip, by Redis's clock."""

import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import redis
from django.core.cache import BaseCache

from ratelimit_app.algorithms import Decision

from .base import BEAT, Take, Unavailable, decision, text
from .clients import Clients, key_maker
from .cluster import Cluster
from .faults import CLUSTER, FIXES, fault, told
from .script import FORMAT, REAL_TIME, alive, asked, script
from .sentinel import Sentinels
from .spread import Spread
from .steps import Result, Steps, arun, run
from .topology import Elsewhere, One, Topology


class RedisStore:
    """See `Store`. `cache` is a Redis alias of django-redis or Django; `timeout` is seconds."""

    name = "redis"
    #: The clock of the script, in Lua; a store for traces or tests has another.
    seam: ClassVar[str] = REAL_TIME

    def __init__(self, cache: BaseCache, timeout: float, deadline: float | None = None) -> None:
        self.clients = Clients(cache, timeout, deadline or 2.5 * timeout)
        self.breaker = self.clients.node.breaker
        self.topology: Topology = One(self.clients)
        if self.clients.sentinels:
            self.topology = Sentinels(self.clients)
        self._call = self.clients.wire.call
        self.key = key_maker(cache)
        self.taking, self.giving = script(self.seam), script(self.seam, "give")
        self._version = self.key(f"{FORMAT}:version")
        self._alive = self.key(f"{FORMAT}:alive")
        self._process = uuid.uuid4().hex
        self.processes = 1
        self._beats: deque[int] = deque(maxlen=3)

    def take(
        self, takes: Sequence[Take], *, spend: bool = True, until: float | None = None
    ) -> list[Decision]:
        """See `Store.take`."""
        until = until or time.monotonic() + self.clients.deadline
        if type(self.topology) is One:
            # The hot path: what `Spread` does for a single slot, without its steps.
            if not self.breaker.allows():
                raise Unavailable(FIXES["breaker"], "breaker")
            arguments = self.arguments(takes, asked(takes, spend))
            try:
                try:
                    reply = self._call("EVALSHA", self.taking.sha, *arguments, until=until)
                except redis.exceptions.NoScriptError:
                    # Nothing was done yet, so asking again charges once.
                    reply = self._call("EVAL", self.taking.text, *arguments, until=until)
            except CLUSTER:
                self.breaker.answered()
                self._spread_out()
            except Exception as error:
                # Whatever is on that port may make redis-py raise anything at all.
                raise self._failed(error) from error
            else:
                return self._answered(takes, reply)
        return self._trips(lambda where: Spread(self, where, takes, until).take(spend))

    async def atake(
        self, takes: Sequence[Take], *, spend: bool = True, until: float | None = None
    ) -> list[Decision]:
        """See `Store.atake`; as `take`, line by line."""
        until = until or time.monotonic() + self.clients.deadline
        if type(self.topology) is One:
            if not self.breaker.allows():
                raise Unavailable(FIXES["breaker"], "breaker")
            arguments = self.arguments(takes, asked(takes, spend))
            call = self.clients.here().call
            try:
                try:
                    reply = await call("EVALSHA", self.taking.sha, *arguments, until=until)
                except redis.exceptions.NoScriptError:
                    reply = await call("EVAL", self.taking.text, *arguments, until=until)
            except CLUSTER:
                self.breaker.answered()
                self._spread_out()
            except Exception as error:
                raise self._failed(error) from error
            else:
                return self._answered(takes, reply)
        return await self._atrips(lambda where: Spread(self, where, takes, until).take(spend))

    def give(
        self, takes: Sequence[Take], since: int | None = None, decisions: Sequence[Decision] = ()
    ) -> None:
        """See `Store.give`."""
        until = self._until()
        self._trips(lambda where: Spread(self, where, takes, until).give(since, decisions))

    async def agive(
        self, takes: Sequence[Take], since: int | None = None, decisions: Sequence[Decision] = ()
    ) -> None:
        """See `Store.agive`."""
        until = self._until()
        await self._atrips(lambda where: Spread(self, where, takes, until).give(since, decisions))

    def reset(self, takes: Sequence[Take]) -> None:
        """See `Store.reset`."""
        for take in takes:
            self._ask(self.bucket(take), "DEL", self.bucket(take))

    def beat(self) -> None:
        """See `Store.beat`. A process counts for three beats after its last one."""
        ms = str(round(3000 * BEAT))
        found = self._ask(self._alive, "EVAL", alive(), 1, self._alive, self._process, ms)
        if not isinstance(found, int):
            raise Unavailable(f"not a reply of the script: {found!r:.80}", "reply")
        self._beats.append(found)
        # A Redis that has lost everything knows of nobody else until they have said so again.
        self.processes = max(self._beats)

    def version(self) -> str | None:
        """See `Store.version`. No key (nobody announced yet, or a flush) is a token too."""
        found = self._ask(self._version, "GET", self._version)
        return found.decode(errors="replace") if isinstance(found, bytes) else str(found or "")

    def announce(self, token: str) -> None:
        """See `Store.announce`."""
        self._ask(self._version, "SET", self._version, token)

    def question(self, *command: Any) -> Any:
        """Ask for a person what only reads, past the breaker. Raises `Unavailable`."""
        try:
            try:
                return self._call(*command)
            except redis.exceptions.MovedError as moved:
                return self.clients.at(moved.host, moved.port).wire.call(*command)
        except Exception as error:
            raise fault(error) from error

    def arguments(self, takes: Sequence[Take], words: Sequence[bytes]) -> list[Any]:
        """What follows the script in EVALSHA: the keys, and what is asked of them."""
        return [len(takes), *map(self.bucket, takes), *words]

    def bucket(self, take: Take) -> str:
        """The key of a bucket. The braces are Redis Cluster's hash tag: one identity, one slot."""
        return self.key(f"{FORMAT}:{{{text(take.identity)}}}{take.quota.tag}")

    def decisions(self, takes: Sequence[Take], reply: Any) -> list[Decision]:
        """What the script replied to `takes`. Raises `Unavailable` if it is no such reply."""
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
        found, numbers, name = [], iter(reply), self.name
        for quota, _, _ in takes:
            # Allowed, remaining, retry_after and reset_after of each.
            allowed = next(numbers) == 1
            found.append(
                decision(quota, allowed, next(numbers), next(numbers), next(numbers), name)
            )
        return found

    def _answered(self, takes: Sequence[Take], reply: Any) -> list[Decision]:
        found = self.decisions(takes, reply)
        self.breaker.answered()
        return found

    def _ask(self, key: str, *command: Any) -> Any:
        """The reply to a command with this key."""
        until = self._until()
        return self._trips(lambda where: where.call(where.slot(key), *command, until=until))

    def _trips(self, steps: Callable[[Topology], Steps[Result]]) -> Result:
        try:
            try:
                return run(steps(self.topology))
            except Elsewhere:
                self._spread_out()
                return run(steps(self.topology))
        except Exception as error:
            raise self._unavailable(error) from error

    async def _atrips(self, steps: Callable[[Topology], Steps[Result]]) -> Result:
        try:
            try:
                return await arun(steps(self.topology))
            except Elsewhere:
                self._spread_out()
                return await arun(steps(self.topology))
        except Exception as error:
            raise self._unavailable(error) from error

    def _spread_out(self) -> None:
        """There are more servers than one."""
        if type(self.topology) is One:
            self.topology = Cluster(self.clients)

    def _until(self) -> float:
        return time.monotonic() + self.clients.deadline

    def _failed(self, error: Exception) -> Unavailable:
        return self._unavailable(told(error, self.breaker))

    def _unavailable(self, error: Exception) -> Unavailable:
        found = error if isinstance(error, Unavailable) else fault(error)
        if found.kind in ("down", "slow") and len(self.clients.entries) > 1:
            # Another server that the alias names may know of a cluster.
            self._spread_out()
        return found
