"""The store: is it there, is it the right one, and does it keep what it is told?"""

from collections.abc import Iterator

from ratelimit_app import stores
from ratelimit_app.conf import conf
from ratelimit_app.stores.memory import MemoryStore

from .findings import Finding


def of_store() -> Iterator[Finding]:
    """Whatever RATELIMIT["CACHE"] names."""
    store = stores.innermost()
    if isinstance(store, MemoryStore):
        yield _room("memory store", store)
        return
    # Redis is optional.
    from ratelimit_app.stores.redis import RedisStore

    from .redis import of_redis

    if isinstance(store, RedisStore):
        yield from of_redis(store)
    if len(stores.local()):
        yield _room("buckets of local policies", stores.local())


def _room(subject: str, store: MemoryStore) -> Finding:
    used, most = len(store), conf().max_buckets
    found = f"{used:,} of {most:,} buckets are in use in this process"
    if used < 0.9 * most:
        return Finding(subject, "ok", found)
    return Finding(
        subject,
        "warning",
        f"{found}: when it is full, whoever is nearest to a fresh bucket gets one",
        "Raise RATELIMIT['MAX_BUCKETS'], or use Redis.",
    )
