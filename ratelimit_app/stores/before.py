"""A store that stands before another, and answers some calls itself."""

from collections.abc import Sequence

from ratelimit_app.algorithms import Decision

from .base import Store, Take


class Before:
    """See `Store`. Whatever a subclass does not answer is asked of `store`."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.name = store.name

    @property
    def processes(self) -> int:
        """See `Store.processes`."""
        return self.store.processes

    def give(
        self,
        takes: Sequence[Take],
        since: int | None = None,
        decisions: Sequence[Decision] = (),
    ) -> None:
        """See `Store.give`."""
        self.store.give(takes, since, decisions)

    async def agive(
        self,
        takes: Sequence[Take],
        since: int | None = None,
        decisions: Sequence[Decision] = (),
    ) -> None:
        """See `Store.agive`."""
        await self.store.agive(takes, since, decisions)

    def reset(self, takes: Sequence[Take]) -> None:
        """See `Store.reset`."""
        self.store.reset(takes)

    def beat(self) -> None:
        """See `Store.beat`."""
        self.store.beat()

    def version(self) -> str | None:
        """See `Store.version`."""
        return self.store.version()

    def announce(self, token: str) -> None:
        """See `Store.announce`."""
        self.store.announce(token)
