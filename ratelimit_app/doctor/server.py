"""What Redis says of itself: version, role, memory and what it does when that is full."""

from collections.abc import Iterator, Mapping
from typing import Any

from ratelimit_app.stores import Unavailable
from ratelimit_app.stores.redis import RedisStore

from .findings import Finding

_OLDEST = 6


def of_server(store: RedisStore) -> Iterator[Finding]:
    """One INFO tells it all; where that is denied, little is known."""
    told = _info(store)
    if told is None:
        yield Finding(
            "INFO",
            "warning",
            "is denied, so that version, role and memory are not known",
            "Allow it (ACL SETUSER … +info), or look for yourself.",
        )
        told = {}
    else:
        yield _version(told)
        yield _role(told)
        yield _memory(told)
        yield from _evicted(told)
    yield _eviction(told.get("maxmemory_policy") or _configured(store))


def _info(store: RedisStore) -> dict[str, str] | None:
    try:
        answer = _text(store.question("INFO"))
    except Unavailable as error:
        if error.kind != "denied":
            raise
        return None
    pairs = (line.partition(":") for line in answer.splitlines() if ":" in line)
    told = {name: value for name, _, value in pairs}
    if "redis_version" not in told:
        raise Unavailable(f"no answer to INFO: {answer!r:.40}", "reply")
    return told


def _version(told: Mapping[str, str]) -> Finding:
    version = told["redis_version"]
    if int(version.partition(".")[0]) >= _OLDEST:
        return Finding("version", "ok", f"Redis {version}")
    return Finding(
        "version", "error", f"Redis {version} is too old", f"Use Redis {_OLDEST} or later."
    )


def _role(told: Mapping[str, str]) -> Finding:
    role = told.get("role", "not told")
    if role != "slave":
        return Finding("role", "ok", "primary" if role == "master" else role)
    primary = f"{told.get('master_host')}:{told.get('master_port')}"
    return Finding(
        "role",
        "error",
        f"a replica of {primary}: it refuses every write, so that policies decide by on_error",
        "Point LOCATION at the primary, or use Sentinel.",
    )


def _memory(told: Mapping[str, str]) -> Finding:
    used, most = int(told.get("used_memory", 0)), int(told.get("maxmemory", 0))
    if not most:
        return Finding("memory", "ok", f"{_mb(used)} used, no maxmemory")
    found = f"{_mb(used)} of {_mb(most)} used"
    if used < 0.9 * most:
        return Finding("memory", "ok", found)
    return Finding(
        "memory", "warning", found, "Raise maxmemory, or give the limiter a Redis of its own."
    )


def _evicted(told: Mapping[str, str]) -> Iterator[Finding]:
    if evicted := int(told.get("evicted_keys", 0)):
        yield Finding(
            "evicted keys",
            "warning",
            f"{evicted:,} since Redis started: each that was a bucket is a fresh one now",
            "Set maxmemory-policy to noeviction, and see that there is room.",
        )


def _eviction(policy: str | None) -> Finding:
    subject, own = "maxmemory-policy", "give the limiter a Redis of its own"
    if policy == "noeviction":
        return Finding(subject, "ok", policy)
    if policy is None:
        return Finding(
            subject,
            "warning",
            "not known: INFO and CONFIG GET are denied",
            "See that it is noeviction: an evicted bucket is a fresh one.",
        )
    found = f"{policy}: when memory is full, buckets are evicted, and an evicted one is fresh"
    return Finding(subject, "warning", found, f"Set it to noeviction, or {own}.")


def _configured(store: RedisStore) -> str | None:
    try:
        answer: Any = store.question("CONFIG", "GET", "maxmemory-policy")
    except Unavailable as error:
        if error.kind != "denied":
            raise
        return None
    pair = list(answer.values()) if isinstance(answer, dict) else list(answer or ())
    return _text(pair[-1]) if pair else None


def _text(answer: object) -> str:
    return answer.decode(errors="replace") if isinstance(answer, bytes) else str(answer)


def _mb(size: int) -> str:
    return f"{size / 1024 / 1024:,.1f} MB"
