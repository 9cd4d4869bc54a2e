"""Decisions without a trip: one key, many keys, and refusals."""

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks import floors, ours
from benchmarks.measure import loop, over_keys
from benchmarks.peers import Place, attempt
from benchmarks.policies import ONE, PLENTY, WHO, Rate
from ratelimit_app import limiter, stores
from ratelimit_app.stores import Take

from .base import Bench, Contender, Goal, Row

KEYS = [f"client-{number}" for number in range(50_000)]


def decision(bench: Bench) -> Row:
    store = bench.stack.enter_context(ours.limited_by("memory"))
    own = {
        "floor": floors.in_process(1e-9, 1.0),
        "ours: store.take": ours.take(store),
        "ours: limiter.take": lambda: limiter.take("admit1-0", key=WHO),
    }
    return Row(
        "decision",
        "In process, one key, admitted",
        "the library",
        {**_each(own), **_peers(bench, PLENTY)},
        (Goal("ours: store.take", 3, "floor"), Goal("ours: limiter.take", 6, "floor")),
    )


def refusal(bench: Bench) -> Row:
    store = bench.stack.enter_context(ours.limited_by("memory"))
    floor = floors.in_process(86_400.0, 86_400.0)
    own: dict[str, Callable[[], Any]] = {
        "floor": floor,
        "ours: store.take": ours.take(store, rate=ONE),
        "ours: limiter.take": lambda: limiter.take("refuse1-0", key=WHO),
    }
    for spend in own.values():
        spend()
    return Row(
        "refusal",
        "In process, one key, refused",
        "the library",
        {**_each(own), **_peers(bench, ONE)},
        (Goal("ours: store.take", 2.5, "floor"),),
    )


def keys(bench: Bench) -> Row:
    store = bench.stack.enter_context(ours.limited_by("memory"))
    (asked,) = ours.takes(1)
    wanted = {key: [Take(asked.quota, key.encode().rjust(15, b"."))] for key in KEYS}
    own: dict[str, Callable[[str], Any]] = {
        "floor": floors.in_process(1e-9, 1.0),
        "ours: store.take": lambda key: store.take(wanted[key]),
        "ours: limiter.take": lambda key: limiter.take("admit1-0", key=key),
    }
    place = _place(bench)
    peers = {
        name: taker
        for name, peer in bench.peers.items()
        if "memory" in peer.places
        and (taker := attempt(name, partial(peer.taker, place, PLENTY))) is not None
    }
    for function in (*own.values(), *peers.values()):
        for key in KEYS:
            function(key)
    everybody = {**own, **peers}
    return Row(
        "keys",
        "In process, 50,000 keys in turn, admitted",
        "the library",
        {name: Contender(over_keys(function, KEYS)) for name, function in everybody.items()},
    )


def _each(functions: dict[str, Callable[[], Any]]) -> dict[str, Contender]:
    return {name: Contender(loop(function)) for name, function in functions.items()}


def _peers(bench: Bench, rate: Rate) -> dict[str, Contender]:
    return peers_taking(bench, _place(bench), rate)


def _place(bench: Bench) -> Place:
    stores.sweep()
    return Place("memory", bench.server.url)


def peers_taking(bench: Bench, place: Place, rate: Rate) -> dict[str, Contender]:
    """Every peer that can keep its buckets there, after a first take."""
    found = {}
    for name, peer in bench.peers.items():
        if place.where not in peer.places:
            continue

        def ready(peer: Any = peer) -> Callable[[], Any]:
            take = peer.taker(place, rate)
            take(WHO)
            return lambda: take(WHO)

        if (function := attempt(name, ready)) is not None:
            found[name] = Contender(loop(function), note=peer.algorithm)
    return found
