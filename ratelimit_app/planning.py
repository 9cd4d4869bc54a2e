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
    asked: list[CompiledPolicy] = []
    takes: list[Take] = []
    known: list[Entry] = []
    digests: dict[object, bytes | None] = {}
    for policy, cost in wanted:
        quota, key = policy.quota, policy.key
        if policy.mode == "off" or quota.tag in charged:
            continue
        charged.add(quota.tag)
        who = (key.of, policy.key_name)
        try:
            if faults and (fault := faults.get(key.aload)):
                raise fault
            if who in digests:
                found = digests[who]
            else:
                identity = key.of(request, policy.key_name)
                found = digests[who] = None if identity is None else digest(identity)
        except Exception as error:
            # Never a bucket shared by accident: the policy answers as if the store had failed.
            _failed.error("The key of policy %r failed.", error, policy.slug)
            known.append(Entry(policy, failed(policy)))
            continue
        if found is None:
            continue
        if quota.limit.limit:
            asked.append(policy)
            takes.append(Take(quota, found, cost))
        else:
            known.append(Entry(policy, nothing(policy, cost)))
    return Plan(asked, takes, known)
