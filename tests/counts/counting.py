"""What a decision costs in what no noise can touch: bytecodes, calls, trips and bytes."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeAlias

from django.core.cache.backends.redis import RedisCache

from benchmarks import ours
from benchmarks.policies import ONE, PLENTY
from benchmarks.requests import OURS, behind
from benchmarks.tap import Tap
from ratelimit_app import limiter, stores
from ratelimit_app.stores.memory import MemoryStore
from ratelimit_app.stores.redis import RedisStore
from ratelimit_app.testing import override_policies
from tests.servers import RedisServer

#: By what is done: its measures by name.
Counts: TypeAlias = dict[str, dict[str, int]]

_POLICIES = {
    "plenty": {"limit": PLENTY.limit, "period": PLENTY.period, "path": "/x/"},
    "one": {"limit": ONE.limit, "period": ONE.period, "path": "/y/"},
}


def counts(server: RedisServer) -> Counts:
    """Every figure, of this Python."""
    with override_policies(_POLICIES):
        return _in_process() | _requests() | _over_redis(server)


def _in_process() -> Counts:
    found: Counts = {}
    for name, rate in (("admitted", PLENTY), ("refused", ONE)):
        for count in (1, 10):
            take = ours.take(MemoryStore(), count, rate)
            found[f"memory, {count} policies, {name}"] = _counted(take)
    with stores.pinned(MemoryStore()):
        found["limiter.take, admitted"] = _counted(lambda: limiter.take("plenty", key="192.0.2.7"))
        found["limiter.take, refused"] = _counted(lambda: limiter.take("one", key="192.0.2.7"))
    return found


def _requests() -> Counts:
    """What the middleware adds to a request of a bare view."""
    found: Counts = {}
    for name, where in (("admitted", "x"), ("refused", "y")):
        with stores.pinned(MemoryStore()):
            whole, bare = behind(OURS, where=where), behind(where=where)
            with whole.in_force():
                full = _counted(whole.send)
            with bare.in_force():
                empty = _counted(bare.send)
        found[f"middleware, {name}"] = {each: full[each] - empty[each] for each in full}
    return found


def _over_redis(server: RedisServer) -> Counts:
    """The trip included, as far as it runs in Python."""
    found: Counts = {}
    tap = Tap(server.port)
    store = RedisStore(RedisCache(tap.url, {}), timeout=5)
    try:
        for count in (1, 3, 10):
            take = ours.take(store, count)
            counted = _counted(take)
            before = tap.heard
            take()
            after = tap.heard
            counted["trips"] = after.trips - before.trips
            counted["bytes sent"] = after.sent - before.sent
            found[f"redis, {count} policies"] = counted
    finally:
        store.clients.wire.hang_up()
        tap.close()
    return found


def _counted(work: Callable[[], Any]) -> dict[str, int]:
    for _ in range(5):
        # What is remembered from call to call is remembered by now.
        work()
    return {"bytecodes": _bytecodes(work), "calls": _calls(work)}


def _bytecodes(work: Callable[[], Any]) -> int:
    """Instructions of the interpreter, in our code and in what it calls."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def _calls(work: Callable[[], Any]) -> int:
    """Functions called, those written in C as well."""
    count = 0

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
