"""Whole requests through Django's WSGI handler: what a door adds to a bare view."""

from collections.abc import Mapping
from typing import Any

import redis

from benchmarks import floors, ours
from benchmarks.measure import Timed
from benchmarks.peers import Door, Place, Where, attempt
from benchmarks.policies import ONE, PLENTY, Rate
from benchmarks.requests import OURS, Site, behind, through
from ratelimit_app import refresh
from ratelimit_app.policies import Snapshot
from ratelimit_app.sources import DEFAULTS

from .base import Bench, Contender, Goal, Row

BARE, BARE_DRF = "bare view", "bare DRF view"


def memory(bench: Bench) -> Row:
    return _row(
        bench, "request", "A whole request, admitted in process", "memory", PLENTY, "InProcess", 2
    )


def over_redis(bench: Bench) -> Row:
    return _row(
        bench,
        "request-redis",
        "A whole request, admitted on Redis",
        "redis",
        PLENTY,
        "OverRedis",
        1,
    )


def refusal(bench: Bench) -> Row:
    return _row(
        bench,
        "refusal-redis",
        "A whole refusal on Redis, one hot key",
        "redis",
        ONE,
        "RefusingOverRedis",
        12 / 69,
    )


def among(bench: Bench) -> Row:
    """Does a request pay for the policies that do not match it?"""
    bench.stack.enter_context(ours.limited_by("memory"))
    plenty = {"limit": PLENTY.limit, "period": PLENTY.period}
    matching = {f"m{number}": {**plenty, "path": "/x/"} for number in range(3)}
    others = {f"o{number}": {**plenty, "path": f"/{number}/*"} for number in range(997)}
    three, thousand = "3 policies, 3 matching", "1,000 policies, 3 matching"
    return Row(
        "table",
        "A whole request, in process, among other policies",
        "how many policies do not match",
        {
            BARE: Contender(behind().timed),
            three: Contender(_among(matching), BARE),
            thousand: Contender(_among(matching | others), BARE),
        },
        (Goal(thousand, 1.2, three),),
    )


def _row(
    bench: Bench, name: str, title: str, where: Where, rate: Rate, floor: str, most: float
) -> Row:
    bench.stack.enter_context(ours.limited_by(where))
    floors.OverRedis.client = floors.RefusingOverRedis.client = redis.Redis(port=bench.server.port)
    path = "admit1" if rate is PLENTY else "refuse1"
    mine = behind(OURS, where=path)
    mine()
    return Row(
        name,
        title,
        "what stands before the view",
        {
            BARE: Contender(behind().timed),
            "floor": Contender(behind(f"benchmarks.floors.{floor}").timed, BARE),
            "ours": Contender(mine.timed, BARE),
            **_doors(bench, Place(where, bench.server.url), rate),
        },
        (Goal("ours", most, "floor"),),
    )


def _doors(bench: Bench, place: Place, rate: Rate) -> dict[str, Contender]:
    """Every peer that has a way into Django, after a first request."""
    found: dict[str, Contender] = {}
    for name, peer in bench.peers.items():
        if place.where not in peer.places:
            continue

        def ready(peer: Any = peer) -> tuple[Site, Door] | None:
            if (door := peer.door(place, rate)) is None:
                return None
            site = through(door)
            site()
            return site, door

        made = attempt(name, ready)
        if made is not None:
            site, door = made
            if door.over == BARE_DRF and BARE_DRF not in found:
                from benchmarks.peers.drf import BareView

                found[BARE_DRF] = Contender(through(Door(BareView.as_view())).timed)
            found[name] = Contender(site.timed, door.over, peer.algorithm)
    return found


def _among(policies: Mapping[str, Mapping[str, Any]]) -> Timed:
    rows = [{**DEFAULTS, "slug": slug, **fields} for slug, fields in policies.items()]
    snapshot, site = Snapshot(rows, strict=True), behind(OURS)
    inner = site.timed

    def timed(calls: int) -> float:
        with refresh.keeper.pinned(snapshot):
            return inner(calls)

    return timed
