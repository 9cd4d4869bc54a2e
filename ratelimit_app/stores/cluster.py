"""The nodes of a Redis Cluster, and the slots that they own."""

from collections.abc import Iterable, Sequence
from typing import Any

from redis import exceptions
from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot

from .base import Unavailable
from .clients import Clients
from .faults import fault
from .node import Node
from .steps import Steps, ask
from .topology import PAUSE, Due, half, host_name, in_turn

#: How often one command is sent on.
_REDIRECTIONS = 5


class Cluster:
    """The nodes of a Redis Cluster and the slots that they own; see `Topology`."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        #: By slot, as far as is known.
        self._owners: list[Node | None] = [None] * REDIS_CLUSTER_HASH_SLOTS
        #: There is no cluster after all, only an alias that names several servers.
        self._plain = False
        #: Nodes that know who is who, the latest first.
        self._informed: list[Node] = []
        self._due = Due(max(PAUSE, clients.deadline))

    def slot(self, key: str) -> int:
        """The slot of a key; without a cluster all keys are in one."""
        return 0 if self._plain else key_slot(key.encode())

    def look(self, until: float) -> Steps[None]:
        """See `Topology.look`."""
        if not self._due.now():
            return
        for node in in_turn([*self._informed, *self._clients.entries]):
            try:
                reply = yield from ask(node, "CLUSTER", "SLOTS", until=half(until))
            except Exception as error:
                if "cluster support disabled" in str(error):
                    self._plain, self._owners = True, [None] * REDIS_CLUSTER_HASH_SLOTS
                    return
                continue
            if self._learn(reply, node):
                return
        self._due.soon()

    def call(self, slot: int, *command: Any, until: float) -> Steps[Any]:
        """See `Topology.call`. Who is sent on has done nothing yet, so following charges once."""
        yield from self.look(until)
        node, asking = self._owners[slot] or self._clients.node, False
        for _ in range(_REDIRECTIONS):
            try:
                return (yield from ask(node, *command, until=until, asking=asking))
            except exceptions.MovedError as moved:
                self._due.soon()
                node, asking = self._named(moved, node), False
                self._owners[slot] = node
                self._informed = [node, *(each for each in self._informed if each is not node)]
            except exceptions.AskError as sent_on:
                node, asking = self._named(sent_on, node), True
            except (exceptions.ClusterDownError, exceptions.ClusterCrossSlotError) as error:
                self._due.soon()
                raise fault(error) from error
            except Unavailable:
                self._due.soon()
                raise
        raise Unavailable(f"the cluster sends slot {slot} from node to node", "reply")

    def _named(self, error: exceptions.AskError, by: Node) -> Node:
        # No host is the one that says so.
        return self._clients.at(error.host or by.address.host, error.port)

    def _learn(self, reply: Any, by: Node) -> bool:
        """Take over `CLUSTER SLOTS`: first slot, last slot, primary, replicas."""
        owners: list[Node | None] = [None] * REDIS_CLUSTER_HASH_SLOTS
        known: dict[Node, None] = {}
        try:
            for first, last, *nodes in reply:
                if not 0 <= first <= last < REDIS_CLUSTER_HASH_SLOTS:
                    # No list is made as long as a server would have it.
                    return False
                named = [self._clients.at(*each) for each in _addresses(nodes, by)]
                known.update(dict.fromkeys(named))
                owners[first : last + 1] = named[:1] * (last + 1 - first)
        except (TypeError, ValueError):
            return False
        if not known:
            return False
        self._plain, self._owners, self._informed = False, owners, list(known)
        return True


def _addresses(nodes: Iterable[Sequence[Any]], by: Node) -> Iterable[tuple[str, int]]:
    for host, port, *_ in nodes:
        yield host_name(host) or by.address.host, int(port)
