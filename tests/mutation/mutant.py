"""What a mutant is, and of which files they are made."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]

ALGORITHMS = (
    "fixed_window",
    "sliding_window_log",
    "sliding_window_counter",
    "token_bucket",
    "leaky_bucket",
    "gcra",
)
#: What says who is counted.
KEYS = ("keys", "digests", "addresses")
#: What decides, in the order of the report.
FILES = (
    "ratelimit_app/algorithms/base.py",
    *(f"ratelimit_app/algorithms/{name}.{kind}" for name in ALGORITHMS for kind in ("py", "lua")),
    "ratelimit_app/stores/bucket.lua",
    "ratelimit_app/stores/redis.lua",
    "ratelimit_app/stores/give.lua",
)
#: What takes an hour more, since many mutants must pass tests with threads: `--file memory`.
#: `script.py` and `traced.py` hold the seam: Lua in a string of Python, so both generators go over.
SLOW = (
    "ratelimit_app/stores/script.py",
    "ratelimit_app/stores/base.py",
    "ratelimit_app/stores/memory.py",
    "ratelimit_app/stores/shards.py",
    "ratelimit_app/stores/traced.py",
    *(f"ratelimit_app/{name}.py" for name in KEYS),
)


class Mutant(NamedTuple):
    """One file with one change. `change` tells it in words that do not name a line, so that an
    argument about it outlives edits elsewhere; it is unique within the file."""

    file: str
    line: int
    change: str
    source: str

    @property
    def name(self) -> str:
        return f"{self.file}: {self.change}"


def distinct(mutants: Iterable[Mutant]) -> list[Mutant]:
    """Like places get a number; a change that changes nothing or repeats another is left out."""
    seen: Counter[str] = Counter()
    sources, kept = set(), []
    for mutant in mutants:
        if mutant.source in sources:
            continue
        sources.add(mutant.source)
        seen[mutant.change] += 1
        times = seen[mutant.change]
        kept.append(mutant._replace(change=mutant.change + (f" #{times}" if times > 1 else "")))
    return kept


def generate(files: Iterable[str] = FILES) -> list[Mutant]:
    """Every mutant of the files, always in the same order."""
    from .lua import lua_mutants, seam_mutants
    from .python import python_mutants

    mutants: list[Mutant] = []
    for file in files:
        source = (ROOT / file).read_text("utf-8")
        if file.endswith(".lua"):
            mutants += distinct(lua_mutants(file, source))
        else:
            mutants += distinct([*python_mutants(file, source), *seam_mutants(file, source)])
    return mutants
