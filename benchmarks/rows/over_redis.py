"""Decisions on Redis: the floors, ours and the peers'; one policy and several; sync and async."""

import asyncio

import redis.asyncio
from asgiref.sync import sync_to_async

from benchmarks import floors, ours
from benchmarks.measure import awaited, loop
from benchmarks.peers import Place
from benchmarks.policies import ONE, PLENTY
from benchmarks.requests import OURS, abehind, behind

from .base import Bench, Contender, Goal, Row
from .in_process import peers_taking

NO_OP = "no-op EVALSHA by redis-py"


def decision(bench: Bench) -> Row:
    server, client = bench.server, bench.server.client()
    store = bench.stack.enter_context(ours.limited_by("redis"))
    one, three, ten = (
        f"ours: {count}" for count in ("one policy", "three policies", "ten policies")
    )
    return Row(
        "redis",
        "On Redis, one key, admitted",
        "the library; for ours also the number of policies, still in one trip",
        {
            NO_OP: Contender(loop(floors.no_op(client))),
            "floor: GCRA by redis-py": Contender(loop(floors.bare_gcra(client))),
            "floor: GCRA, held connection": Contender(loop(floors.held_gcra(client))),
            "floor: GCRA, raw socket": Contender(loop(floors.raw_gcra(client, server.port))),
            one: Contender(loop(ours.take(store))),
            three: Contender(loop(ours.take(store, 3))),
            ten: Contender(loop(ours.take(store, 10))),
            **peers_taking(bench, Place("redis", server.url), PLENTY),
        },
        (Goal(one, 1.0, NO_OP), Goal(three, 1.25, NO_OP), Goal(ten, 2, NO_OP)),
    )


def refusal(bench: Bench) -> Row:
    client = bench.server.client()
    store = bench.stack.enter_context(ours.limited_by("redis"))
    return Row(
        "redis-refusal",
        "On Redis, one key, refused",
        "the library",
        {
            NO_OP: Contender(loop(floors.no_op(client))),
            "ours: one policy": Contender(loop(ours.take(store, rate=ONE))),
            **peers_taking(bench, Place("redis", bench.server.url), ONE),
        },
    )


def asynchronous(bench: Bench) -> Row:
    event_loop = asyncio.new_event_loop()
    bench.stack.callback(event_loop.close)
    run = event_loop.run_until_complete
    bench.stack.callback(lambda: run(event_loop.shutdown_asyncgens()))
    client = redis.asyncio.Redis(port=bench.server.port)
    bench.stack.callback(lambda: run(client.aclose()))
    sha = run(client.script_load("return {1, 2, 3, 4}"))
    store = bench.stack.enter_context(ours.limited_by("redis"))
    wanted = ours.takes(1)
    hopping = sync_to_async(store.take, thread_sensitive=False)
    sync, native = "ours: sync", "ours: async"
    return Row(
        "async",
        "One policy on Redis, sync and native async",
        "how the trip is awaited",
        {
            sync: Contender(loop(ours.take(store))),
            native: Contender(awaited(lambda: store.atake(wanted), run)),
            "no-op EVALSHA by redis.asyncio": Contender(awaited(floors.ano_op(client, sha), run)),
            "sync in sync_to_async": Contender(awaited(lambda: hopping(wanted), run)),
            "request: bare WSGI": Contender(behind(where="admit1").timed),
            "request: ours, WSGI": Contender(behind(OURS, where="admit1").timed),
            "request: bare ASGI": Contender(abehind(run, where="admit1")),
            "request: ours, ASGI": Contender(abehind(run, OURS, where="admit1")),
        },
        (Goal(native, 1.3, sync),),
    )
