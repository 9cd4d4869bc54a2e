"""A Redis Cluster and a Sentinel set-up of the tests' own, from real servers."""

import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import redis
from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot

from tests.servers import NoServer, RedisServer, free_port

#: After so many milliseconds without an answer a node is taken for dead.
NODE_TIMEOUT = 1500
#: And a primary by a Sentinel.
DOWN_AFTER = 1000

Slot = int


def until(condition: Callable[[], Any], seconds: float = 30) -> Any:
    """Ask until the answer is true; what it was."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if found := condition():
                return found
        except redis.RedisError as error:
            last: object = error
        else:
            last = found
        if time.monotonic() > deadline:
            raise NoServer(f"Not within {seconds} s; the last answer was {last!r}")
        time.sleep(0.02)


class Cluster:
    """Three primaries and a replica of each, unless told otherwise."""

    def __init__(self, primaries: int = 3, replicas: int = 3, *options: str) -> None:
        self.servers = [
            RedisServer(
                *("--cluster-enabled", "yes", "--cluster-node-timeout", str(NODE_TIMEOUT)),
                *("--repl-diskless-sync-delay", "0", "--cluster-replica-validity-factor", "0"),
                *("--cluster-allow-replica-migration", "no", "--repl-ping-replica-period", "1"),
                *options,
            )
            for _ in range(primaries + replicas)
        ]
        self.clients = {server.port: server.client() for server in self.servers}
        self.ids = {
            port: client.execute_command("CLUSTER MYID").decode()
            for port, client in self.clients.items()
        }
        self._primaries = primaries
        self._join(self.servers[:primaries], self.servers[primaries:])

    def _join(self, primaries: list[RedisServer], replicas: list[RedisServer]) -> None:
        first, *others = self.servers
        for epoch, server in enumerate(self.servers, start=1):
            self.client(server).execute_command("CLUSTER SET-CONFIG-EPOCH", epoch)
        share = -(-REDIS_CLUSTER_HASH_SLOTS // len(primaries))
        for number, server in enumerate(primaries):
            slots = range(number * share, min((number + 1) * share, REDIS_CLUSTER_HASH_SLOTS))
            self.client(server).execute_command("CLUSTER ADDSLOTS", *slots)
        for server in others:
            self.client(first).execute_command("CLUSTER MEET", "127.0.0.1", server.port)
        until(lambda: all(self._sees(server, len(self.servers)) for server in self.servers))
        for number, server in enumerate(replicas):
            of = self.ids[primaries[number % len(primaries)].port]
            until(partial(self._replicates, server, of))
        for server in replicas:
            until(partial(self._is_linked, server))
        until(lambda: all(self._is_whole(server) for server in self.servers))

    def _is_whole(self, server: RedisServer) -> bool:
        told = self.client(server).execute_command("CLUSTER SLOTS")
        return self.is_up(server) and sum(len(each) - 2 for each in told) == len(self.servers)

    def _sees(self, server: RedisServer, nodes: int) -> bool:
        known = self.client(server).execute_command("CLUSTER NODES").values()
        return len(known) == nodes and all(
            "handshake" not in each["flags"] and each["connected"] for each in known
        )

    def _is_linked(self, server: RedisServer) -> bool:
        return bool(self.client(server).info("replication")["master_link_status"] == "up")

    def _replicates(self, server: RedisServer, of: str) -> bool:
        return bool(self.client(server).execute_command("CLUSTER REPLICATE", of))

    def is_up(self, server: RedisServer) -> bool:
        info = self.client(server).execute_command("CLUSTER INFO")
        return bool(info["cluster_state"] == "ok")

    def client(self, server: RedisServer) -> redis.Redis:
        return self.clients[server.port]

    @property
    def primaries(self) -> list[RedisServer]:
        """As they were at the start, in the order of their slots."""
        return self.servers[: self._primaries]

    @property
    def url(self) -> str:
        return self.servers[0].url

    def add(self) -> RedisServer:
        """A new primary without slots, which no script was loaded into."""
        server = RedisServer(
            *("--cluster-enabled", "yes", "--cluster-node-timeout", str(NODE_TIMEOUT))
        )
        self.servers.append(server)
        client = self.clients[server.port] = server.client()
        self.ids[server.port] = client.execute_command("CLUSTER MYID").decode()
        client.execute_command("CLUSTER MEET", "127.0.0.1", self.servers[0].port)
        until(lambda: all(self._sees(each, len(self.servers)) for each in self.servers))
        until(lambda: all(self.is_up(each) for each in self.servers))
        return server

    def owner(self, slot: Slot) -> RedisServer:
        """Who serves this slot, as most of those that run see it."""
        ports = [
            port
            for server in self.servers
            if server.runs
            for low, high, primary, *_ in self.client(server).execute_command("CLUSTER SLOTS")
            if low <= slot <= high
            for port in [primary[1]]
        ]
        port = max(set(ports), key=ports.count)
        return next(server for server in self.servers if server.port == port)

    def replica(self, of: RedisServer) -> RedisServer:
        for server in self.servers:
            found = self.client(server).info("replication")
            if found["role"] == "slave" and found["master_port"] == of.port:
                return server
        raise LookupError(of.port)

    def begin_migration(self, slot: Slot, target: RedisServer) -> RedisServer:
        """The source, which goes on serving what it still has."""
        source = self.owner(slot)
        self.client(target).execute_command(
            "CLUSTER SETSLOT", slot, "IMPORTING", self.ids[source.port]
        )
        self.client(source).execute_command(
            "CLUSTER SETSLOT", slot, "MIGRATING", self.ids[target.port]
        )
        return source

    def move(self, source: RedisServer, target: RedisServer, *keys: bytes | str) -> None:
        """These keys, as `redis-cli --cluster reshard` moves them."""
        if keys:
            command = ["MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "REPLACE", "KEYS", *keys]
            self.client(source).execute_command(*command)

    def end_migration(self, slot: Slot, source: RedisServer, target: RedisServer) -> None:
        while keys := self.client(source).execute_command("CLUSTER GETKEYSINSLOT", slot, 10):
            self.move(source, target, *keys)
        for server in (target, source):
            self.client(server).execute_command(
                "CLUSTER SETSLOT", slot, "NODE", self.ids[target.port]
            )

    def stop(self) -> None:
        for server in self.servers:
            server.stop()


def slots(keys: Iterable[str]) -> list[Slot]:
    return [key_slot(key.encode()) for key in keys]


class Sentinels:
    """A primary, a replica, and three Sentinels that watch them under the name `mymaster`."""

    name = "mymaster"

    def __init__(self, folder: Path) -> None:
        self.primary = RedisServer("--repl-diskless-sync-delay", "0")
        self.replica = RedisServer(
            *("--replicaof", f"127.0.0.1 {self.primary.port}", "--repl-diskless-sync-delay", "0")
        )
        self.sentinels: list[RedisServer] = []
        for number in range(3):
            config = folder / f"sentinel-{number}.conf"
            # Who finds out at the same moment as others votes for itself, and nobody is elected.
            down_after = DOWN_AFTER + 300 * number
            config.write_text(
                f"sentinel monitor {self.name} 127.0.0.1 {self.primary.port} 2\n"
                f"sentinel down-after-milliseconds {self.name} {down_after}\n"
                f"sentinel failover-timeout {self.name} 3000\n"
            )
            self.sentinels.append(RedisServer("--sentinel", config=config))
        for sentinel in self.sentinels:
            until(partial(self._knows, sentinel))

    def _knows(self, sentinel: RedisServer) -> bool:
        state = sentinel.client().execute_command("SENTINEL MASTER", self.name)
        return (
            int(state["num-other-sentinels"]) == len(self.sentinels) - 1
            and int(state["num-slaves"]) == 1
        )

    @property
    def addresses(self) -> list[tuple[str, int]]:
        return [("127.0.0.1", sentinel.port) for sentinel in self.sentinels]

    def now(self) -> int:
        """The port of the primary, as a Sentinel that runs sees it."""
        client = next(each for each in self.sentinels if each.runs).client()
        found = client.execute_command("SENTINEL GET-MASTER-ADDR-BY-NAME", self.name)
        return int(found[1])

    def stop(self) -> None:
        for server in (*self.sentinels, self.replica, self.primary):
            server.stop()


__all__ = ["Cluster", "Sentinels", "free_port", "slots", "until"]
