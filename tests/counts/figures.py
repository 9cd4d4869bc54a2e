"""The committed figures: `python -m tests.counts` writes those of the Python that runs it anew.

figures.json has, for each Python and each decision: `bytecodes` (instructions of the interpreter)
and `calls` (functions, those in C as well), of our code and of Django's and redis-py's as far as
we make them run; on Redis also `trips` and `bytes sent`. A figure that moves by more than 5 % fails
the test: write them anew on every Python that has some, and say in the commit why they moved.
"""

import json
import sys
from pathlib import Path

from .counting import Counts

FILE = Path(__file__).with_name("figures.json")
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
TOLERANCE = 0.05


def load() -> dict[str, Counts]:
    """By Python."""
    found: dict[str, Counts] = json.loads(FILE.read_text())
    return found


def write(counts: Counts) -> None:
    known = load() if FILE.exists() else {}
    FILE.write_text(json.dumps({**known, PYTHON: counts}, indent=1, sort_keys=True) + "\n")
