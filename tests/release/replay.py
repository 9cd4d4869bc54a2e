"""The code as it stands, asked as a release was asked."""

from types import TracebackType
from typing import Any

from django.core.cache.backends.redis import RedisCache

from ratelimit_app.algorithms import Decision
from ratelimit_app.digests import digest
from ratelimit_app.policies import CompiledPolicy, compiled
from ratelimit_app.sources import DEFAULTS
from ratelimit_app.stores import Take
from ratelimit_app.stores.script import asked
from ratelimit_app.stores.traced import TraceRedisStore
from tests.stores.stores import PATIENT

from .trace import KEY_PREFIX, Step


class Replay:
    """A store whose time is that of the trace; closed at the end of the block."""

    def __init__(self, url: str) -> None:
        self.store = TraceRedisStore(RedisCache(url, {"KEY_PREFIX": KEY_PREFIX}), PATIENT)

    def __enter__(self) -> "Replay":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.store.close()

    def take(self, step: Step) -> Decision:
        self.store.now = step.now
        (decision,) = self.store.take([_take(step)])
        return decision

    def key(self, step: Step) -> str:
        """Of the bucket."""
        return self.store.bucket(_take(step))

    def arguments(self, step: Step) -> list[Any]:
        """What the script is given."""
        self.store.now = step.now
        takes = [_take(step)]
        return self.store.arguments(takes, asked(takes, spend=True))


def policy_of(step: Step) -> CompiledPolicy:
    """As a migration leaves it: fields that came later have what they mean by default."""
    return compiled({**DEFAULTS, **step.policy})


def _take(step: Step) -> Take:
    policy = policy_of(step)
    who = policy.key.given(step.who, policy.key_name)
    return Take(policy.quota, digest(who), step.cost)
