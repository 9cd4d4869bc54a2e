"""Leases: a process takes several units in one trip and spends them here, one by one.

Of each client it holds at most a lease that is not spent. So in any window what is admitted is
within processes × lease of what the store alone would have admitted.
"""

import asyncio
import concurrent.futures
import threading
import time
from collections.abc import Callable, Sequence

from ratelimit_app.algorithms import Decision

from .base import Store, Take, Unavailable
from .before import Before
from .faults import FIXES
from .holdings import Call, Holdings, is_leased, with_units

#: Of how many clients a process holds a lease.
_MOST = 20_000


class LeaseStore(Before):
    """See `Store`. Takes leases from `store` for the quotas that have one.

    `deadline` bounds a call, in seconds; for half of it a call waits for a lease that another
    fetches. `now` gives nanoseconds of a clock that never steps.
    """

    def __init__(
        self,
        store: Store,
        deadline: float,
        now: Callable[[], int] = time.monotonic_ns,
        most: int = _MOST,
    ) -> None:
        super().__init__(store)
        self._deadline = deadline
        self._now = now
        self._holdings = Holdings(now, most)
        self._spent = self._holdings.spent

    def take(
        self, takes: Sequence[Take], *, spend: bool = True, until: float | None = None
    ) -> list[Decision]:
        """See `Store.take`."""
        if spend and len(takes) == 1 and (known := self._spent(takes[0])) is not None:
            return [known]
        if not any(map(is_leased, takes)):
            return self.store.take(takes, spend=spend, until=until)
        if not spend:
            asks, units = self._look(takes)
            return list(map(with_units, self.store.take(asks, spend=False, until=until), units))
        until, patience = self._ends(until)
        while not isinstance(call := self._holdings.call(takes, threading.get_ident()), Call):
            # Each who waits raises its own: one error for all would gather their tracebacks.
            try:
                fault = call.result(max(0, patience - time.monotonic()))
            except concurrent.futures.TimeoutError:
                fault = _slow()
            if fault:
                raise Unavailable(str(fault), fault.kind)
        said, sent = [], 0
        try:
            if asks := call.asks():
                sent, said = self._now(), self.store.take(asks, until=until)
                if modest := call.modest(said):
                    call, sent = modest, self._now()
                    said = self.store.take(call.asks(), until=until)
        except BaseException as error:
            self._holdings.failed(call, error)
            raise
        return self._holdings.settle(call, said, sent)

    async def atake(
        self, takes: Sequence[Take], *, spend: bool = True, until: float | None = None
    ) -> list[Decision]:
        """See `Store.atake`. What is held is spent here and now."""
        if spend and len(takes) == 1 and (known := self._spent(takes[0])) is not None:
            return [known]
        if not any(map(is_leased, takes)):
            return await self.store.atake(takes, spend=spend, until=until)
        if not spend:
            asks, units = self._look(takes)
            return list(
                map(with_units, await self.store.atake(asks, spend=False, until=until), units)
            )
        until, patience = self._ends(until)
        while not isinstance(call := self._holdings.call(takes), Call):
            await asyncio.wait([asyncio.wrap_future(call)], timeout=patience - time.monotonic())
            if fault := call.result() if call.done() else _slow():
                raise Unavailable(str(fault), fault.kind)
        said, sent = [], 0
        try:
            if asks := call.asks():
                sent, said = self._now(), await self.store.atake(asks, until=until)
                if modest := call.modest(said):
                    call, sent = modest, self._now()
                    said = await self.store.atake(call.asks(), until=until)
        except BaseException as error:
            self._holdings.failed(call, error)
            raise
        return self._holdings.settle(call, said, sent)

    def reset(self, takes: Sequence[Take]) -> None:
        """See `Store.reset`."""
        super().reset(takes)
        self._holdings.forget(takes)

    def _ends(self, until: float | None) -> tuple[float, float]:
        """When a call must have ended, and until when it waits for others: a trip may follow."""
        now = time.monotonic()
        until = until or now + self._deadline
        return until, now + (until - now) / 2

    def _look(self, takes: Sequence[Take]) -> tuple[list[Take], list[int]]:
        """What to ask the store where nothing is to be spent, and what is held beside."""
        units = self._holdings.unspent(takes)
        needs = [max(0, take.cost - held) for take, held in zip(takes, units, strict=True)]
        return [take._replace(cost=each) for take, each in zip(takes, needs, strict=True)], units


def _slow() -> Unavailable:
    return Unavailable(FIXES["slow"], "slow")
