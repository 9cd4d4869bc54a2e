"""Redis clients of our own, one per cache alias and process (and event loop), with our time-outs.

The alias's own client is no use to a limiter: its time-outs are seconds or none, django-redis
shares one pool among all aliases of a URL, and Django's backend opens a pool per cache object. So
the address and the options of the alias are read, and the pool is built anew.
"""

import asyncio
from typing import Any
from weakref import WeakKeyDictionary

import redis
import redis.asyncio
from django.core.cache import BaseCache
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

#: What a Redis that cannot answer raises; a cluster's faults are no RedisError.
FAULTS: tuple[type[Exception], ...] = (
    redis.RedisError,
    redis.exceptions.RedisClusterException,
    OSError,
)

#: What a pool is told of its connections in the sync world only, or what is ours to say.
_OURS = frozenset(
    {
        "parser_class",
        "pool_class",
        "socket_timeout",
        "socket_connect_timeout",
        "retry",
        "retry_on_error",
        "retry_on_timeout",
        "connection_pool",
    }
)


class Clients:
    """The clients of one alias: `sync`, and one for each running event loop."""

    def __init__(self, cache: BaseCache, timeout: float) -> None:
        self._timeout = timeout
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, redis.asyncio.Redis] = (
            WeakKeyDictionary()
        )
        factory = getattr(getattr(cache, "client", None), "connection_factory", None)
        if factory is not None:
            # django-redis: its factory knows user, password, parser and Sentinel.
            address: Any = cache.client  # type: ignore[attr-defined]
            self._url = str(address._server[0])
            params = factory.make_connection_params(self._url)
            pool = factory.get_connection_pool(params)
            self._options = {**params, **factory.pool_cls_kwargs}
            self._options.pop("url")
        else:
            inner: Any = cache._cache  # type: ignore[attr-defined]
            self._url, self._options = str(inner._servers[0]), dict(inner._pool_options)
            pool = inner._pool_class.from_url(self._url, **self._options)
        pool.connection_kwargs.update(self._limits(Retry(NoBackoff(), 0)))
        self.sync = redis.Redis(connection_pool=pool)

    def here(self) -> redis.asyncio.Redis:
        """The client of the running event loop: a connection belongs to the loop that opened it."""
        loop = asyncio.get_running_loop()
        client = self._loops.get(loop)
        if client is None:
            options = {name: value for name, value in self._options.items() if name not in _OURS}
            pool = redis.asyncio.ConnectionPool.from_url(self._url, **options)
            pool.connection_kwargs.update(self._limits(AsyncRetry(NoBackoff(), 0)))
            client = self._loops[loop] = redis.asyncio.Redis(connection_pool=pool)
        return client

    def _limits(self, retry: object) -> dict[str, object]:
        """Set on the pool, since a URL's own query would win over arguments.

        No retry, ever: a call whose answer was lost may have been charged already.
        """
        return {
            "socket_timeout": self._timeout,
            "socket_connect_timeout": self._timeout,
            "retry": retry,
            "retry_on_error": [],
            "retry_on_timeout": False,
        }
