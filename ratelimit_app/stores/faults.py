"""What can be wrong with a Redis, told apart: each has its own count, log line and fix."""

import redis
from redis import exceptions

from .base import Unavailable
from .breaker import Breaker

#: What a Redis that cannot answer raises; a cluster's faults are no RedisError.
FAULTS: tuple[type[Exception], ...] = (
    redis.RedisError,
    exceptions.RedisClusterException,
    exceptions.ChildDeadlockedError,
    OSError,
)

#: What only a node of a Redis Cluster says; it did nothing then.
CLUSTER = (
    exceptions.AskError,  # and so MOVED
    exceptions.TryAgainError,
    exceptions.ClusterDownError,
    exceptions.ClusterCrossSlotError,
)

#: By class, the more special first.
_BY_CLASS: tuple[tuple[type[Exception], str], ...] = (
    (exceptions.MaxConnectionsError, "pool"),
    (exceptions.AuthenticationError, "denied"),
    (exceptions.NoPermissionError, "denied"),
    (exceptions.OutOfMemoryError, "memory"),
    (exceptions.ReadOnlyError, "readonly"),
    (exceptions.TimeoutError, "slow"),
    (TimeoutError, "slow"),
    (exceptions.ClusterDownError, "down"),
    (exceptions.ConnectionError, "down"),
    (exceptions.RedisClusterException, "down"),
    (OSError, "down"),
)

#: By the first word of an error that has no class of its own.
_BY_WORD = {"WRONGTYPE": "type", "NOAUTH": "denied", "NOPERM": "denied", "OOM": "memory"}

#: Kinds that an answer of Redis itself tells of: to ask again costs no wait.
ANSWERED = frozenset({"denied", "memory", "readonly", "type", "reply"})

#: What to do about each kind.
FIXES = {
    "down": "Redis cannot be reached; start it, or correct LOCATION.",
    "slow": "Redis did not answer in time; look at its load and at the network, or raise TIMEOUT.",
    "pool": "all connections are in use; raise max_connections of the cache alias.",
    "memory": "Redis is out of memory; give the limiter a database with room of its own.",
    "readonly": "this Redis is a replica; point LOCATION at the primary.",
    "denied": "Redis denies the login, EVALSHA, EVAL or a command of the script; correct the ACL.",
    "type": "a key of the limiter holds something else; keep KEY_PREFIX for the limiter alone.",
    "reply": "what answered is no Redis, or a Redis with an error; look at the text.",
    "breaker": "Redis failed several times in a row; it is asked again twice a second.",
}


def fault(error: Exception) -> Unavailable:
    """The error as a store tells of it."""
    kind = next((kind for known, kind in _BY_CLASS if isinstance(error, known)), None)
    if kind is None:
        kind = _BY_WORD.get(str(error).partition(" ")[0], "reply")
    return Unavailable(f"{FIXES[kind]} ({type(error).__name__}: {error})", kind)


def told(error: Exception, breaker: Breaker) -> Unavailable:
    """The error as a store tells of it, and as the breaker of its server has to know it."""
    found = fault(error)
    if found.kind in ANSWERED or isinstance(error, redis.ResponseError):
        breaker.answered()
    elif found.kind != "pool":
        # That all connections are in use says nothing of Redis.
        breaker.failed()
    return found
