"""The Lua scripts: a driver and the algorithms' twins, joined once; and how they are called."""

import hashlib
import struct
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from ratelimit_app.algorithms import ALGORITHMS

from .base import Take

#: Redis's own clock, in ms, and the real expiry. The store for traces brings its own two lines.
REAL_TIME = """
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function lifetime(ms) return ms end
"""

#: Numbers of the algorithms in the packed quota, and so in mixed old and new workers: only append.
CODES = {
    "fixed_window": 1,
    "sliding_window_log": 2,
    "sliding_window_counter": 3,
    "token_bucket": 4,
    "leaky_bucket": 5,
    "gcra": 6,
}

#: A tag of key and state format: workers of two releases share a Redis without misreading.
FORMAT = "rl1"

#: What a call of `redis.lua` is to do: spend, look, or look beside a refusal made elsewhere.
SPEND, LOOK, BESIDE = b"1", b"0", b"2"


_pack = struct.Struct(">BBdddd").pack


class Script:
    """The text of a script and its SHA1, by which Redis knows it.

    `driver` is `redis`, which takes, or `give`.
    """

    def __init__(self, seam: str, driver: str) -> None:
        # A call makes the functions of the algorithms that it asks for, and no others.
        twins = [
            f"if code == {CODES[name]} then\n{_text('algorithms', name)}" for name in ALGORITHMS
        ]
        twin = "local function twin(code)\n" + "else".join(twins) + "end\nend"
        parts = seam, twin, _text("stores", "bucket"), _text("stores", driver)
        self.text = "\n".join(parts)
        self.sha = hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()


@cache
def script(seam: str = REAL_TIME, driver: str = "redis") -> Script:
    """The script with this clock; text is the same for every connection and is joined once."""
    return Script(seam, driver)


@cache
def alive() -> str:
    """The script of a process's heartbeat."""
    return _text("stores", "alive")


def packed(take: Take) -> bytes:
    """The numbers of a take as the driver unpacks them; doubles, as Lua's are."""
    quota, _, cost = take
    rate, period, burst = quota.limit
    return _pack(CODES[quota.algorithm], quota.shadow, rate, period, burst, cost)


def asked(takes: Sequence[Take], spend: bool) -> list[bytes]:
    """What `redis.lua` is told of these takes."""
    return [SPEND if spend else LOOK, *map(packed, takes)]


def given(gifts: Sequence[tuple[Take, int]], since: int | None) -> list[bytes]:
    """What `give.lua` is told of these takes, each with the reset_after (ms) that it said."""
    moment = b"" if since is None else b"%d" % since
    return [moment, *(packed(take) + struct.pack(">d", reset) for take, reset in gifts)]


def _text(folder: str, stem: str) -> str:
    return (files("ratelimit_app") / folder / f"{stem}.lua").read_text("utf-8")
