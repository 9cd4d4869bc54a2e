"""Every test that docs/faults.md and docs/promises.md name is there."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
FAULTS = (ROOT / "docs/faults.md").read_text()
PROMISES = (ROOT / "docs/promises.md").read_text()


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


@pytest.mark.parametrize("page", [FAULTS, PROMISES], ids=["faults", "promises"])
def test_every_test_that_is_named_exists(page: str):
    named = re.findall(r"`([\w/.]+)::(\w+)`", page)
    assert len(named) > 50
    missing = {f"{place}::{name}" for place, name in named if name not in functions_in(place)}
    assert missing == set()


def test_every_fault_names_a_test():
    rows = [line for line in FAULTS.splitlines() if line.startswith("| ")]
    faults = [line for line in rows if not line.startswith(("| fault", "| ---"))]
    assert len(faults) > 40
    assert [line for line in faults if "::test_" not in line.split(" | ")[2]] == []


def test_all_thirty_tests_have_one_of_ours():
    rows = [line.split(" | ") for line in PROMISES.splitlines() if re.match(r"\| \d+ ", line)]
    last = [row for row in rows if len(row) == 3 and not row[2].endswith("measured |")]
    assert [int(row[0].split()[1]) for row in last[-30:]] == list(range(1, 31))
