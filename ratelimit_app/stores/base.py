"""The contract of a store: where buckets live, and who owns clock, atomicity and expiry."""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from ratelimit_app.algorithms import ALGORITHMS, Algorithm, Decision, Limit, Taken

#: Seconds between two beats of a process.
BEAT = 5.0


@dataclass(frozen=True, slots=True)
class Quota:
    """What a store must know of a policy; built once, when the policy is compiled.

    `tag` tells the policy's buckets from all others (policy, key kind, algorithm); it is ASCII
    and safe in a key. A `shadow` quota counts, but never refuses the call it is part of. One to
    `ask_always` sends its calls to the store although they are known to be refused. `lease` is how
    many units a process takes at once; of a shadow, and of a sliding log, one.
    """

    policy: str
    algorithm: str
    limit: Limit
    tag: str
    shadow: bool = False
    ask_always: bool = False
    lease: int = 1
    twin: Algorithm = field(init=False, repr=False, compare=False)
    take: Callable[..., Taken] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "twin", ALGORITHMS[self.algorithm])
        object.__setattr__(self, "take", self.twin.take)


class Take(NamedTuple):
    """A request for `cost` units (a whole number, 0 or more) of one bucket.

    The bucket is the quota's, for the client with this `identity` (a digest of `digests.digest`).
    """

    quota: Quota
    identity: bytes
    cost: int = 1


class Unavailable(Exception):
    """The store did not answer in time, or not as a store does; what was taken is unknown.

    `kind` is one of the words of `faults.FIXES`.
    """

    def __init__(self, text: str, kind: str = "down") -> None:
        super().__init__(text)
        self.kind = kind


class Store(Protocol):
    """Takes from all the buckets of a call, or from none.

    Every method raises `Unavailable`, and nothing else, when the store fails.
    """

    #: The `source` of its decisions.
    name: str

    @property
    def processes(self) -> int:
        """How many processes share it, as far as `beat` knows."""
        ...

    def take(
        self, takes: Sequence[Take], *, spend: bool = True, until: float | None = None
    ) -> list[Decision]:
        """Decide all `takes`, one decision each, in their order.

        Spends only if every take that is not shadow is allowed; a decision that is allowed beside
        one that is not shows the bucket untouched. `spend=False` answers the same and writes
        nothing. The same bucket twice in one call is an error of the caller. `until` is the moment
        of the monotonic clock at which it must have ended, where that is not the store's to say.
        """
        ...

    async def atake(
        self, takes: Sequence[Take], *, spend: bool = True, until: float | None = None
    ) -> list[Decision]:
        """`take`, without blocking the event loop."""
        ...

    def give(
        self,
        takes: Sequence[Take],
        since: int | None = None,
        decisions: Sequence[Decision] = (),
    ) -> None:
        """Give back what these takes spent, in one trip that is never repeated.

        `since` and `decisions` tell when they were taken (ms, by the clock of the store) and what
        was said; then no bucket has more room than if they had not been taken (see
        `Algorithm.give`), and nothing goes into a later window. Without them so much is taken off
        what is spent now; of windows, of the present one.
        """
        ...

    async def agive(
        self,
        takes: Sequence[Take],
        since: int | None = None,
        decisions: Sequence[Decision] = (),
    ) -> None:
        """`give`, without blocking the event loop."""
        ...

    def reset(self, takes: Sequence[Take]) -> None:
        """Make these buckets fresh."""
        ...

    def beat(self) -> None:
        """Say that this process is alive, and learn how many are."""
        ...

    def version(self) -> str | None:
        """The token that the last `announce` of any process left; None if none can be shared."""
        ...

    def announce(self, token: str) -> None:
        """Tell every process that the policies have changed; `token` is a new one."""
        ...


def decision(
    quota: Quota, allowed: bool, remaining: int, retry: int, reset: int, source: str
) -> Decision:
    """A decision from what a twin says, in milliseconds."""
    wait = None if retry < 0 else retry / 1000
    most = quota.limit[2]
    # As Decision(…), in half the time: one is made for every bucket of every request.
    return tuple.__new__(
        Decision, (allowed, most, remaining, wait, reset / 1000, quota.policy, source, 0.0)
    )


def unasked(quota: Quota, source: str) -> Decision:
    """Of a bucket beside one that refuses, where nobody knows and nothing is spent."""
    return Decision(True, quota.limit.burst, None, 0, 0, quota.policy, source)


def spent(takes: Sequence[Take], decisions: Sequence[Decision]) -> list[tuple[Take, int]]:
    """The takes that cost something, each with the reset_after (ms) that was said, or 0."""
    resets = [round(each.reset_after * 1000) for each in decisions] or [0] * len(takes)
    return [(take, reset) for take, reset in zip(takes, resets, strict=True) if take.cost]


def text(digest: bytes) -> str:
    """A digest as it stands in a key: URL-safe Base64 (RFC 4648, section 5)."""
    return base64.urlsafe_b64encode(digest).decode("ascii")
