"""The one path every door takes: which policies, whose buckets, one trip to the store, a verdict.

Without a request (tasks, scripts, sockets) use `take`, `peek`, `refund` and `reset`, or their async
twins.
"""

import logging
from collections.abc import Iterable, Sequence

from asgiref.sync import sync_to_async
from django.http import HttpRequest

from . import outage, refresh, stores
from .algorithms import Decision
from .conf import conf
from .digests import digest_of
from .keys import as_text
from .planning import Plan, plan_for
from .policies import CompiledPolicy, Snapshot
from .sparingly import Sparingly
from .stores import Take, Unavailable
from .verdict import Entry, Verdict, checked_cost, in_mode, nothing, unlimited, verdict

_failed = Sparingly(logging.getLogger("ratelimit_app"))


class UnknownPolicy(LookupError):
    """There is no policy of this slug; says which there are."""


def ready() -> None:
    """Raise `SettingError` now for what every request would fail on; connects to nothing."""
    conf()
    stores.current()


def check(request: HttpRequest, wanted: Iterable[tuple[CompiledPolicy, int]]) -> Verdict:
    """Charge these policies, each with its cost, for a request, save those charged before.

    The verdict on all of the request's policies so far stands on `request.rate_limit`.
    """
    plan = plan_for(request, wanted)
    if plan.settled:
        return _conclude(request, plan, [])
    try:
        decisions = stores.current().take(plan.takes)
    except Unavailable as error:
        decisions = outage.decide(plan.asked, plan.takes, error)
    return _conclude(request, plan, decisions)


async def acheck(request: HttpRequest, wanted: Iterable[tuple[CompiledPolicy, int]]) -> Verdict:
    """`check`, without blocking the event loop."""
    wanted = list(wanted)
    faults: dict[object, Exception] = {}
    for aload in {policy.key.aload for policy, _ in wanted if policy.key.aload}:
        try:
            await aload(request)
        except Exception as error:
            faults[aload] = error
    plan = plan_for(request, wanted, faults)
    if plan.settled:
        return _conclude(request, plan, [])
    try:
        decisions = await stores.current().atake(plan.takes)
    except Unavailable as error:
        decisions = outage.decide(plan.asked, plan.takes, error)
    return _conclude(request, plan, decisions)


def peek_request(request: HttpRequest, wanted: Iterable[tuple[CompiledPolicy, int]]) -> Verdict:
    """What `check` would answer; spends nothing.

    Raises `Unavailable` when the store fails: who looks wants to know.
    """
    plan = plan_for(request, wanted)
    decisions = [] if plan.settled else stores.current().take(plan.takes, spend=False)
    return _conclude(request, plan, decisions)


def take(slug: str, *, key: object = "", cost: int = 1) -> Decision:
    """Take `cost` units (0 or more) of a policy; `key` is the identity under its own key kind.

    Raises `UnknownPolicy`, and `ValueError` for a cost or a key that cannot be.
    """
    return _decide(by_slug(slug, refresh.keeper.current()), key, cost, spend=True)


async def atake(slug: str, *, key: object = "", cost: int = 1) -> Decision:
    """`take`, without blocking the event loop."""
    return await _adecide(by_slug(slug, await refresh.keeper.acurrent()), key, cost, spend=True)


def peek(slug: str, *, key: object = "", cost: int = 1) -> Decision:
    """What `take` would answer; spends nothing. A cost of 0 always fits and shows what is left."""
    return _decide(by_slug(slug, refresh.keeper.current()), key, cost, spend=False)


async def apeek(slug: str, *, key: object = "", cost: int = 1) -> Decision:
    """`peek`, without blocking the event loop."""
    return await _adecide(by_slug(slug, await refresh.keeper.acurrent()), key, cost, spend=False)


def refund(slug: str, *, key: object = "", cost: int = 1) -> None:
    """Give back `cost` units (0 or more) that were taken for nothing; never more than are spent.

    Of a window only what the present one counts. A policy that is off or has a limit of 0 has
    nothing to give back. Raises as `take`, and `Unavailable` when the store fails: it may have been
    done or not, and is not tried again.
    """
    policy = by_slug(slug, refresh.keeper.current())
    if gift := _gift(policy, key, cost):
        stores.current().give([gift])


async def arefund(slug: str, *, key: object = "", cost: int = 1) -> None:
    """`refund`, without blocking the event loop."""
    policy = by_slug(slug, await refresh.keeper.acurrent())
    if gift := _gift(policy, key, cost):
        await stores.current().agive([gift])


def reset(slug: str, *, key: object = "") -> None:
    """Make one bucket fresh. Raises as `take`, and `Unavailable` when the store fails."""
    stores.current().reset([_take(by_slug(slug, refresh.keeper.current()), key, 0)])


async def areset(slug: str, *, key: object = "") -> None:
    """`reset`, without blocking the event loop."""
    await sync_to_async(reset)(slug, key=key)


def by_slug(slug: str, snapshot: Snapshot) -> CompiledPolicy:
    """The policy of this slug. Raises `UnknownPolicy`."""
    found = snapshot.by_slug.get(slug)
    if found is None:
        known = ", ".join(sorted(snapshot.by_slug)) or "none"
        raise UnknownPolicy(f"There is no policy {slug!r}; there are: {known}.")
    return found


def _conclude(request: HttpRequest, plan: Plan, decisions: Sequence[Decision]) -> Verdict:
    answered = map(Entry, plan.asked, decisions)
    found = verdict(getattr(request, "rate_limit", None), [*plan.known, *answered])
    if found.entries:
        request.rate_limit = found  # type: ignore[attr-defined]
    return found


def _decide(policy: CompiledPolicy, key: object, cost: int, *, spend: bool) -> Decision:
    asked = _take(policy, key, cost)
    if (known := _known(policy, asked.cost)) is not None:
        return known
    try:
        (decision,) = stores.current().take([asked], spend=spend)
    except Unavailable as error:
        (decision,) = outage.decide([policy], [asked], error, spend=spend)
    return in_mode(policy, decision)


async def _adecide(policy: CompiledPolicy, key: object, cost: int, *, spend: bool) -> Decision:
    asked = _take(policy, key, cost)
    if (known := _known(policy, asked.cost)) is not None:
        return known
    try:
        (decision,) = await stores.current().atake([asked], spend=spend)
    except Unavailable as error:
        (decision,) = outage.decide([policy], [asked], error, spend=spend)
    return in_mode(policy, decision)


def _take(policy: CompiledPolicy, key: object, cost: int) -> Take:
    given = key if key.__class__ is str else as_text(getattr(key, "pk", key))
    if not given and policy.key.needs_value:
        raise ValueError(f"Policy {policy.slug!r} needs key=… to say who is counted.")
    who = digest_of(policy.key.given, given, policy.key_name)
    return Take(policy.quota, who, checked_cost(cost))


def _gift(policy: CompiledPolicy, key: object, cost: int) -> Take | None:
    asked = _take(policy, key, cost)
    return asked if _known(policy, asked.cost) is None else None


def _known(policy: CompiledPolicy, cost: int) -> Decision | None:
    """What needs no store."""
    if policy.mode == "off" or not conf().enabled:
        return unlimited(policy)
    if not policy.quota.limit.limit:
        return in_mode(policy, nothing(policy, cost))
    return None
