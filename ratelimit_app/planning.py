"""From a request and its policies to what the store is asked, and what is known without asking."""

import logging
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from django.http import HttpRequest

from .digests import digest
from .policies import CompiledPolicy
from .sparingly import Sparingly
from .stores import Take
from .verdict import Entry, Verdict, failed, nothing

_failed = Sparingly(logging.getLogger("ratelimit_app"))


class Plan(NamedTuple):
    """What to ask the store, and what is known without asking."""

    asked: list[CompiledPolicy]
    takes: list[Take]
    known: list[Entry]

    @property
    def settled(self) -> bool:
        """Nothing needs to be asked: no bucket is concerned, or a policy refuses everything."""
        return not self.takes or any(entry.refuses for entry in self.known)


def plan_for(
    request: HttpRequest,
    wanted: Iterable[tuple[CompiledPolicy, int]],
    faults: Mapping[object, Exception] = MappingProxyType({}),
) -> Plan:
    """Who is counted under each policy that was not charged before, by an earlier door.

    `faults` are those of the keys' `aload`: they are the faults of the keys that need it.
    """
    before: Verdict | None = getattr(request, "rate_limit", None)
    charged = {entry.policy.quota.tag for entry in before.entries} if before else set()
    plan = Plan([], [], [])
    digests: dict[object, bytes | None] = {}
    for policy, cost in wanted:
        quota = policy.quota
        if policy.mode == "off" or quota.tag in charged:
            continue
        charged.add(quota.tag)
        who = (policy.key.of, policy.key_name)
        try:
            if fault := faults.get(policy.key.aload):
                raise fault
            if who not in digests:
                identity = policy.key.of(request, policy.key_name)
                digests[who] = None if identity is None else digest(identity)
        except Exception as error:
            # Never a bucket shared by accident: the policy answers as if the store had failed.
            _failed.error("The key of policy %r failed.", error, policy.slug)
            plan.known.append(Entry(policy, failed(policy)))
            continue
        found = digests[who]
        if found is None:
            continue
        if quota.limit.limit:
            plan.asked.append(policy)
            plan.takes.append(Take(quota, found, cost))
        else:
            plan.known.append(Entry(policy, nothing(policy, cost)))
    return plan
