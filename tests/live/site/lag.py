"""How late an event loop is with what is due on it."""

import asyncio
import time
from collections import deque

#: Seconds from one look to the next.
PERIOD = 0.01

#: By how many seconds the last looks came too late: ten seconds' worth.
late: deque[float] = deque(maxlen=1000)
_task: "asyncio.Task[None] | None" = None


def start() -> None:
    """Measure on the running loop from now on; a second time it does nothing."""
    global _task
    if _task is None:
        _task = asyncio.get_running_loop().create_task(_measure())


async def _measure() -> None:
    while True:
        due = time.monotonic() + PERIOD
        await asyncio.sleep(PERIOD)
        late.append(time.monotonic() - due)
