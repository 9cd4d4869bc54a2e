"""What a call costs Redis here, and a small run to hold the simulation against."""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from benchmarks import ours
from benchmarks.cores import pinned
from benchmarks.policies import DIGEST, Rate
from ratelimit_app import stores
from ratelimit_app.stores import Quota, Store, Take
from ratelimit_app.stores.redis import RedisStore
from ratelimit_app.stores.script import asked
from tests.servers import RedisServer

from .model import Request


class Seen(NamedTuple):
    """`cpu`: seconds of Redis's time."""

    admitted: int
    trips: int
    cpu: float
    seconds: float


def idle_service(server: RedisServer, calls: int = 5_000) -> float:
    """Redis's own time for a call of one policy, in ms, when it wakes up for each."""
    with ours.limited_by("redis") as store, pinned(server.pid, apart=True):
        take = ours.take(store)
        before = _cpu(server)
        for _ in range(calls):
            take()
        return 1000 * (_cpu(server) - before) / calls


def busy_service(server: RedisServer, clients: int = 16, rounds: int = 1_000) -> float:
    """The same when it never sleeps: the next calls are there before one is done."""
    with ours.limited_by("redis"), pinned(server.pid, apart=True):
        store = stores.innermost()
        assert isinstance(store, RedisStore)
        # The first call brings the script, so that Redis knows it by name.
        ours.take(store)
        wanted = ours.takes(1)
        command = ["EVALSHA", store.taking.sha, *store.arguments(wanted, asked(wanted, True))]
        pool: Any = server.client().connection_pool
        connections = [pool.make_connection() for _ in range(clients)]
        packed = connections[0].pack_command(*command)
        for connection in connections:
            connection.connect()
        before = _cpu(server)
        for _ in range(rounds):
            for connection in connections:
                connection.send_packed_command(packed, check_health=False)
            for connection in connections:
                connection.read_response()
        spent = _cpu(server) - before
        for connection in connections:
            connection.disconnect()
        return 1000 * spent / (rounds * clients)


def run(server: RedisServer, requests: Sequence[Request], rate: Rate) -> Seen:
    """One gateway, for real, each request when it is due."""
    server.client().flushall()
    with ours.limited_by("redis") as store, pinned(server.pid, apart=True):
        return _run(server, store, requests, rate)


def _run(server: RedisServer, store: Store, requests: Sequence[Request], rate: Rate) -> Seen:
    quota = Quota("scale", "gcra", rate.numbers, "scale")
    store.take([Take(quota, DIGEST)])
    calls, cpu = _calls(server), _cpu(server)
    started, admitted = time.perf_counter(), 0
    for at, _, key in requests:
        if (early := started + at / 1000 - time.perf_counter()) > 0:
            time.sleep(early)
        admitted += store.take([Take(quota, key.to_bytes(15, "little"))])[0].allowed
    seconds = time.perf_counter() - started
    return Seen(admitted, _calls(server) - calls, _cpu(server) - cpu, seconds)


def _cpu(server: RedisServer) -> float:
    found = server.client().info("cpu")
    return float(found["used_cpu_sys"]) + float(found["used_cpu_user"])


def _calls(server: RedisServer) -> int:
    found = server.client().info("commandstats")
    return int(found.get("cmdstat_evalsha", {"calls": 0})["calls"])
