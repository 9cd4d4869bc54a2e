"""Every test that docs/faults.md names is there."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs/faults.md").read_text()
NAMED = re.findall(r"`([\w/.]+)::(\w+)`", PAGE)


@cache
def functions_in(place: str) -> set[str]:
    """Of a file, or of all files in a folder: a test may move within it."""
    path = ROOT / place
    files = [path] if path.is_file() else sorted(path.glob("*.py"))
    return {
        node.name
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_every_test_that_is_named_exists():
    missing = {f"{place}::{name}" for place, name in NAMED if name not in functions_in(place)}
    assert missing == set()


def test_every_fault_names_a_test():
    rows = [line for line in PAGE.splitlines() if line.startswith("| ")]
    faults = [line for line in rows if not line.startswith(("| fault", "| ---"))]
    assert len(faults) > 40
    assert [line for line in faults if "::test_" not in line.split(" | ")[2]] == []
