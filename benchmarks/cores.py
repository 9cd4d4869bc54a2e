"""Which core runs what: on one core a trip costs no wake-up of another, across two it does."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cores() -> list[int]:
    """The cores that this process may use."""
    return sorted(os.sched_getaffinity(0))


@contextmanager
def pinned(server: int, apart: bool) -> Iterator[None]:
    """This process on the first core; the one of pid `server` there as well, or `apart` from it."""
    allowed = cores()
    os.sched_setaffinity(0, {allowed[0]})
    place(server, {allowed[-1] if apart else allowed[0]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
        place(server, set(allowed))


def place(pid: int, wanted: set[int]) -> None:
    """All threads of a process onto these cores."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), wanted)
