"""The answer for one request, and the decisions that need no store."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from .algorithms import EXACT, Decision
from .policies import CompiledPolicy


class Entry(NamedTuple):
    """A policy that applied to a request, and what its bucket said."""

    policy: CompiledPolicy
    decision: Decision

    @property
    def refuses(self) -> bool:
        """Whether the request must not go on; a policy in shadow never refuses."""
        return not self.decision.allowed and self.policy.mode == "enforce"


class Verdict(NamedTuple):
    """The answer for one request. `status` is 200, 429 (refused) or 503 (the store failed)."""

    status: int
    entries: tuple[Entry, ...]

    @property
    def allowed(self) -> bool:
        """Whether the request may go on."""
        return self.status == 200

    @property
    def refusals(self) -> list[Entry]:
        """The entries that refuse."""
        return [entry for entry in self.entries if entry.refuses]

    @property
    def retry_after(self) -> float | None:
        """Seconds until all that refused would allow; None when one of them never will."""
        longest = 0.0
        for entry in self.refusals:
            if entry.decision.retry_after is None:
                return None
            longest = max(longest, entry.decision.retry_after)
        return longest


def verdict(before: Verdict | None, entries: Sequence[Entry]) -> Verdict:
    """The verdict of an earlier door on the same request, if any, and these entries together."""
    status = before.status if before else 200
    for entry in entries:
        if status != 503 and entry.refuses:
            status = 503 if entry.decision.source == "error" else 429
    return Verdict(status, (*(before.entries if before else ()), *entries))


def nothing(policy: CompiledPolicy, cost: int) -> Decision:
    """A limit of 0 refuses every cost but 0, and needs no store to say so."""
    if cost == 0:
        return Decision(True, 0, 0, 0, 0, policy.slug, "policy")
    return Decision(False, 0, 0, None, 0, policy.slug, "policy")


def unlimited(policy: CompiledPolicy) -> Decision:
    """A policy that is off allows, and counts nothing."""
    most = policy.quota.limit.burst
    return Decision(True, most, most, 0, 0, policy.slug, "policy")


def failed(policy: CompiledPolicy) -> Decision:
    """What `on_error` says where nobody could be asked; its numbers are unknown: none are given."""
    most, allowed = policy.quota.limit.burst, policy.on_error != "closed"
    return Decision(allowed, most, None, 0 if allowed else 1, 0, policy.slug, "error")


def in_mode(policy: CompiledPolicy, decision: Decision) -> Decision:
    """A policy in shadow counts and allows."""
    if policy.mode == "shadow" and not decision.allowed:
        return decision._replace(allowed=True, retry_after=0)
    return decision


def checked_cost(cost: Any) -> int:
    """A cost as it may be: a whole number, 0 or more. Raises `ValueError` for any other."""
    if cost.__class__ is int and 0 <= cost <= EXACT:
        return cost
    if isinstance(cost, bool) or not isinstance(cost, int) or cost < 0:
        raise ValueError(f"The cost {cost!r} cannot be; give a whole number, 0 or more.")
    # Above this no capacity goes, and Lua's numbers are no longer exact.
    return min(cost, EXACT)
