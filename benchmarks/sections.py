"""The parts that are no row of contenders: each by the name that `ONLY=` takes."""

from collections.abc import Callable, Mapping

from benchmarks import correctness, footprint, locking
from benchmarks.load import table as load
from benchmarks.peers import Peer
from benchmarks.scale import measured
from benchmarks.scale import table as scale
from tests.servers import RedisServer

Make = Callable[[RedisServer, Mapping[str, Peer]], str]


def _correctness(server: RedisServer, found: Mapping[str, Peer]) -> str:
    return f"""32 threads of one process make 256 calls for one new key, the interpreter switching between them every
5 µs: exactly {correctness.LIMIT} must be admitted, three times over. Then a limit of one a second: the wait
that the refusal named, and how long it was until a call was admitted. The headers are those of the
library's own door into Django. pyrate-limiter refuses whoever finds its lock held by another thread.

{correctness.table(list(correctness.lines(server.url, found)))}"""


def _footprint(server: RedisServer, found: Mapping[str, Peer]) -> str:
    return f"""Bytes kept for a client after one take and after a hundred, at 100 a minute: in process by tracemalloc
({footprint.ONCE:,} clients, then {footprint.OFTEN}), in Redis by MEMORY USAGE of all that is there. Then what one
decision sends: trips to Redis (a pipeline is one), and bytes. `limiter.take` keeps, besides the
bucket, the digests of the last 16,384 identities.

{footprint.table(list(footprint.lines(server, found)))}"""


def _load(server: RedisServer, _found: Mapping[str, Peer]) -> str:
    found = list(load.lines(server))
    busy = max(line.busy for line in found)
    asked = ", ".join(sorted({f"{line.server} {line.asked:,.0f}" for line in found}))
    return f"""gunicorn (one worker, four threads) and uvicorn (uvloop, httptools, async views) each have the first core;
Redis and the client have the other. Requests a second: 16 connections without a pause. The times, in
ms: requests that fall due at random at {load.SHARE:.0%} of what the bare server manages ({asked} a second), each from
when it was due. The client was at most {busy:.0%} busy, so it held nobody up. All policies match; of those
that refuse, the last one does, for the same client each time.

{load.table(found)}"""


def _locking(_server: RedisServer, _found: Mapping[str, Peer]) -> str:
    return f"""{locking.interpreter()}. GCRA on a dict behind each kind of lock; µs of wall time a take, over all threads
together. The store uses 16 shards: as fast as one lock here, where the interpreter's own lock lets one
thread run at a time anyway, and no lock of ours is held by everybody where it does not; a lock for
each key more than doubles the memory of a bucket. A refusal needs no lock in any of them but the first.

{locking.table()}"""


def _scale(server: RedisServer, _found: Mapping[str, Peer]) -> str:
    idle, busy = measured.idle_service(server), measured.busy_service(server)
    check = scale.check(server, idle)
    found = scale.table(list(scale.lines(busy)))
    return f"""{scale.KEYS:,} keys, {scale.RATE:,} decisions a second, {scale.GATEWAYS} gateways, {2 * scale.WAY} ms there and back, GCRA. A call costs
Redis {1000 * busy:.1f} µs of its time when it is never idle, and {1000 * idle:.1f} when it wakes up for each (measured in this
run, network included). *of one Redis*: the time that all calls need of one busy node; *nodes*: the fewest of a Cluster of which none is busier than 70 %. One Redis
ends where *of one Redis* passes 70 %. Denials are believed for a second at most; a lease takes n units
if 2 n are left, else one, and lapses as fast as the policy replenishes: it pays where one gateway is
asked for one key about as often as the policy replenishes it, and hardly for the long tail.

{found}

The same code at a size that this machine allows, {scale.SMALL_KEYS:,} keys and {scale.SMALL_RATE:,} a second by one gateway, of a
Redis that wakes up for each call, and the run that it is held against:

{check}"""


SECTIONS: dict[str, tuple[str, Make]] = {
    "correctness": ("Correctness", _correctness),
    "footprint": ("Memory and the wire", _footprint),
    "load": ("Under load", _load),
    "locking": ("Locking, measured", _locking),
    "scale": ("Scale by simulation", _scale),
}
