"""Clients by the node that has their buckets."""

import itertools
import os
from collections.abc import Iterator

from redis.crc import key_slot

from ratelimit_app.stores import Quota, Take
from ratelimit_app.stores.redis import RedisStore
from tests.servers import RedisServer

from .servers import Cluster, Slot


def slot(store: RedisStore, take: Take) -> Slot:
    return key_slot(store.bucket(take).encode())


def take_on(
    cluster: Cluster, server: RedisServer, store: RedisStore, quota: Quota, cost: int = 1
) -> Take:
    """A take of a client that nobody has counted, whose bucket is on this node."""
    mine = {
        number
        for low, high, primary, *_ in cluster.client(server).execute_command("CLUSTER SLOTS")
        if primary[1] == server.port
        for number in range(low, high + 1)
    }
    return next(take for take in _takes(quota, cost) if slot(store, take) in mine)


def take_in(store: RedisStore, number: Slot, quota: Quota, cost: int = 1) -> Take:
    """A take of a client that nobody has counted, whose bucket is in this slot."""
    return next(take for take in _takes(quota, cost) if slot(store, take) == number)


def _takes(quota: Quota, cost: int) -> Iterator[Take]:
    start = os.urandom(7)
    return (Take(quota, start + number.to_bytes(8, "big"), cost) for number in itertools.count())
