"""The code of docs/recipes.md, imported as the site's modules that the page says it is."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ratelimit_app import testing

PAGE = Path(__file__).parent.parent.parent / "docs" / "recipes.md"
BLOCK = re.compile(r"^```python (\S+)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(name: str) -> list[str]:
    """The blocks of this name; each stands behind as many blank lines as it does on the page."""
    page = PAGE.read_text()
    return [
        "\n" * page.count("\n", 0, found.start(2)) + found[2]
        for found in BLOCK.finditer(page)
        if found[1] == name
    ]


@pytest.fixture(scope="session")
def shop() -> Iterator[dict[str, Any]]:
    """The modules by their names; they stay importable, since key functions are found by path."""
    names = list(dict.fromkeys(name for name, _ in BLOCK.findall(PAGE.read_text())))
    made = {"shop": ModuleType("shop")}
    made["shop"].__path__ = []
    sys.modules.update(made)
    for name in names:
        if name == "policies":
            continue
        module = sys.modules[name] = made[name] = ModuleType(name)
        (code,) = blocks(name)
        exec(compile(code, str(PAGE), "exec"), vars(module))
    yield made
    for name in made:
        del sys.modules[name]


@pytest.fixture
def policies(shop: Any) -> Iterator[dict[str, dict[str, Any]]]:
    """Those of the page, in force; time stands still, so that no unit comes back meanwhile."""
    found = [row for block in blocks("policies") for row in eval(block.strip())]
    by_slug = {row.pop("slug"): row for row in found}
    with testing.moving_clock(), testing.override_policies(by_slug):
        yield by_slug
