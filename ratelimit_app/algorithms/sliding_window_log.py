"""Sliding window log: every admission of the last `period` is remembered, so the count is exact.

The log is a ring of fixed-width entries in one string, the same bytes here and in Redis. An entry
is a time and the running total of units after it, so one entry serves any cost, and both the units
in the window and the wait are found by binary search: O(log limit) reads, two small writes. The
ring grows by doubling. An entry exactly `period` old still counts.

State: newest time (6 bytes), then capacity, head, count and base (3 bytes each; base is the
running total before the head), then entries of time modulo 2**40 ms (5) and total modulo 2**24 (3).
"""

from collections.abc import Callable

from .base import NEVER, Given, Limit, Splice, Taken

#: Totals are kept modulo 2**24 and entries take 8 bytes each, so a limit must stay well below.
MOST = 1_000_000
#: Times are kept modulo 2**40 ms, so a period must stay well below (this is ten years).
LONGEST = 315_360_000_000

_HEADER, _ENTRY = 18, 8
_TIMES, _TOTALS = 2**40, 2**24


class _Ring:
    """Reads a log; index 0 is the oldest entry."""

    __slots__ = ("base", "capacity", "count", "head", "newest", "state")

    def __init__(self, state: bytes | bytearray) -> None:
        number = int.from_bytes
        self.state = state
        self.newest = number(state[0:6], "big")
        self.capacity = number(state[6:9], "big")
        self.head = number(state[9:12], "big")
        self.count = number(state[12:15], "big")
        self.base = number(state[15:18], "big")

    def slot(self, index: int) -> int:
        """Offset of an entry, in bytes."""
        return _HEADER + (self.head + index) % self.capacity * _ENTRY

    def time(self, index: int) -> int:
        at = self.slot(index)
        age = (self.newest - int.from_bytes(self.state[at : at + 5], "big")) % _TIMES
        return self.newest - age

    def total(self, index: int) -> int:
        """Running total after entry `index`; -1 is before the first."""
        if index < 0:
            return self.base
        at = self.slot(index) + 5
        return int.from_bytes(self.state[at : at + 3], "big")


def take(state: bytes | bytearray | None, limit: Limit, cost: int, now: int, /) -> Taken:
    """See `Algorithm.take`."""
    most, period, _ = limit
    if state is None or int.from_bytes(state[0:6], "big") + period < now:
        if cost > most:
            return None, False, most, NEVER, 0
        fresh = _new(min(4, most), now, 1, 0, _entry(now, cost)) if cost else None
        return fresh, True, most - cost, 0, period + 1 if cost else 0
    ring = _Ring(state)
    # Entries at or after now (the clock stepped back) are folded into one at now.
    keep = ring.count
    if ring.newest >= now:
        keep = _first(0, ring.count, lambda index: ring.time(index) >= now)
    dead = _first(0, keep, lambda index: ring.time(index) >= now - period)
    base, total = ring.total(dead - 1), ring.total(ring.count - 1)
    # At least 1: the newest entry still counts.
    used = (total - base) % _TOTALS
    if cost == 0 or used + cost <= most:
        spent = _write(ring, dead, keep, now, (total + cost) % _TOTALS, most) if cost else None
        last = now if cost or keep < ring.count else ring.newest
        return spent, True, max(0, most - used - cost), 0, last + period + 1 - now
    mended = _write(ring, dead, keep, now, total, most) if ring.newest > now else None
    wait = NEVER
    if cost <= most:
        need = used + cost - most
        freed = _first(dead, keep, lambda index: (ring.total(index) - base) % _TOTALS >= need)
        wait = (ring.time(freed) if freed < keep else now) + period + 1 - now
    last = now if keep < ring.count else ring.newest
    return mended, False, max(0, most - used), wait, last + period + 1 - now


def give(
    state: bytes | bytearray | None,
    limit: Limit,
    cost: int,
    now: int,
    since: int,
    _reset: int,
    /,
) -> Given | None:
    """See `Algorithm.give`: of the entries up to `since`, the newest first.

    What is left without a unit goes, so a log never has more entries than units.
    """
    period = limit.period
    if state is None:
        return None
    ring = _Ring(state)
    dead = _first(0, ring.count, lambda index: ring.time(index) >= now - period)
    # Entries at or after now (the clock stepped back) count as one at now.
    end = ring.count
    if since < now:
        end = _first(dead, end, lambda index: ring.time(index) > since)
    before, upto = ring.total(dead - 1), ring.total(end - 1)

    def units(index: int) -> int:
        """In the window, up to and with entry `index`."""
        return (ring.total(index) - before) % _TOTALS

    left = max(0, units(end - 1) - cost)
    back = units(end - 1) - left
    if not back:
        return None
    cut = _first(dead, end, lambda index: units(index) > left)
    run = [(ring.time(cut), upto)] if units(cut - 1) < left else []
    run += [(ring.time(index), ring.total(index)) for index in range(end, ring.count)]
    count = cut + len(run)
    if count == dead:
        return state, 0
    newest = run[-1][0] if run else ring.time(cut - 1)
    entries = b"".join(_entry(time, (total - back) % _TOTALS) for time, total in run)
    room = (ring.capacity - (ring.head + cut) % ring.capacity) * _ENTRY
    pieces = (
        (0, _header(newest, ring.capacity, ring.head, count, ring.base)),
        (ring.slot(cut), entries[:room]),
        (_HEADER, entries[room:]),
    )
    return Splice(pieces), min(newest, now) + period + 1 - now


def expires(state: bytes | bytearray, limit: Limit, /) -> int:
    """See `Algorithm.expires`."""
    return int.from_bytes(state[0:6], "big") + limit.period + 1


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The first index in [low, high) from which `holds` is true, or `high`."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _write(
    ring: _Ring, dead: int, keep: int, now: int, total: int, most: int
) -> Splice | bytearray:
    """The log with entries [dead, keep) and then one at `now`."""
    count, base = keep - dead + 1, ring.total(dead - 1)
    if count > ring.capacity:
        # Full, and nothing in it is old: the ring is cut open at its head and copied as it is.
        cut, end = ring.slot(0), _HEADER + ring.capacity * _ENTRY
        entries = ring.state[cut:end] + ring.state[_HEADER:cut] + _entry(now, total)
        return _new(min(2 * ring.capacity, most), now, count, base, entries)
    head = (ring.head + dead) % ring.capacity
    return Splice(
        (
            (0, _header(now, ring.capacity, head, count, base)),
            (ring.slot(keep), _entry(now, total)),
        )
    )


def _new(capacity: int, now: int, count: int, base: int, entries: bytes | bytearray) -> bytearray:
    room = bytes(capacity * _ENTRY - len(entries))
    return bytearray(_header(now, capacity, 0, count, base) + entries + room)


def _header(newest: int, capacity: int, head: int, count: int, base: int) -> bytes:
    small = (capacity, head, count, base)
    return newest.to_bytes(6, "big") + b"".join(part.to_bytes(3, "big") for part in small)


def _entry(time: int, total: int) -> bytes:
    return (time % _TIMES).to_bytes(5, "big") + total.to_bytes(3, "big")
