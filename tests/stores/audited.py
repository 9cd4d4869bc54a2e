"""Near denials under audit: the store is asked all the same, and must say the same."""

import threading
from collections.abc import Callable, Sequence

from ratelimit_app.algorithms import Decision
from ratelimit_app.stores import Store, Take
from ratelimit_app.stores.before import Before
from ratelimit_app.stores.near import NearStore

#: How long a denial is believed, in ms.
SECOND = 1000


class Audited(Before):
    """See `Store`. Answers as `store` does; `audits` counts the denials that it has confirmed."""

    def __init__(self, store: Store, now: Callable[[], int]) -> None:
        super().__init__(store)
        self.audits = 0
        self._now, self._seen, self._passed = now, now(), 0
        self.near = NearStore(store, now=self._nanoseconds)

    def take(
        self, takes: Sequence[Take], *, spend: bool = True, until: float | None = None
    ) -> list[Decision]:
        """See `Store.take`."""
        said = self.near.take(takes, spend=spend, until=until)
        return self._audit(said, self.store.take(takes)) if _is_near(said) else said

    async def atake(
        self, takes: Sequence[Take], *, spend: bool = True, until: float | None = None
    ) -> list[Decision]:
        """See `Store.atake`."""
        said = await self.near.atake(takes, spend=spend, until=until)
        return self._audit(said, await self.store.atake(takes)) if _is_near(said) else said

    def reset(self, takes: Sequence[Take]) -> None:
        """See `Store.reset`."""
        self.near.reset(takes)

    def give(
        self,
        takes: Sequence[Take],
        since: int | None = None,
        decisions: Sequence[Decision] = (),
    ) -> None:
        """See `Store.give`."""
        self.near.give(takes, since, decisions)

    async def agive(
        self,
        takes: Sequence[Take],
        since: int | None = None,
        decisions: Sequence[Decision] = (),
    ) -> None:
        """See `Store.agive`."""
        await self.near.agive(takes, since, decisions)

    def _nanoseconds(self) -> int:
        """A clock that never steps; a step of Redis's is obeyed within a second: here, after it."""
        now = self._now()
        self._passed += now - self._seen if now >= self._seen else SECOND
        self._seen = now
        return self._passed * 1_000_000

    def _audit(self, said: list[Decision], truth: list[Decision]) -> list[Decision]:
        # Beside other threads an admission may come between a refusal and its note.
        alone = threading.current_thread() is threading.main_thread()
        for near, real in zip(said, truth, strict=True):
            if near.remaining is None:
                assert (near.allowed, near.retry_after) == (True, 0)
                continue
            assert (near.allowed, near.source) == (real.allowed, "near") == (False, "near")
            assert (near.limit, near.policy) == (real.limit, real.policy)
            if alone:
                assert near.remaining <= (real.remaining or 0)
                assert near.retry_after == real.retry_after
                assert near.reset_after == real.reset_after
        self.audits += 1
        return truth


def _is_near(said: list[Decision]) -> bool:
    return bool(said) and said[0].source == "near"
