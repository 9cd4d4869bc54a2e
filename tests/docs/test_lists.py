"""The pages list every setting, field, check and command, and their links lead somewhere."""

import re
from pathlib import Path
from typing import Any

import pytest

from ratelimit_app import conf
from ratelimit_app.admin.forms import EDITABLE
from ratelimit_app.management.commands.ratelimit import COMMANDS

ROOT = Path(__file__).parent.parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/*.md"))]


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text()


def in_first_column(text: str) -> list[str]:
    """What stands in code in the first cell of each row."""
    cells = re.findall(r"^\| ([^|]+) \|", text, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


def test_every_setting():
    assert in_first_column(page("settings")) == [*conf._PARSERS]


def test_the_defaults():
    (code,) = re.findall(r"```python\n(.+?)```", page("settings"), re.DOTALL)
    shown: dict[str, Any] = {}
    exec(code, shown)
    assert set(shown["RATELIMIT"]) == set(conf._PARSERS)
    assert conf._parse(shown["RATELIMIT"]) == conf._parse({})


def test_every_field_of_a_policy():
    fields = page("policies").split("\n## ")[0]
    assert sorted(in_first_column(fields)) == sorted(EDITABLE)


def test_every_check():
    code = "".join(path.read_text() for path in (ROOT / "ratelimit_app").glob("*checks.py"))
    made = set(re.findall(r'id="(ratelimit_app\.[EW]\d+)"', code))
    assert in_first_column(page("checks")) == sorted(made)


def test_every_command():
    shown = set(
        re.findall(r"^    python manage.py ratelimit (\w+)", page("operations"), re.MULTILINE)
    )
    assert shown == set(COMMANDS)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_link(path: Path):
    for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        other = path.parent / name if name else path
        assert other.exists(), link
        headings = re.findall(r"^#+ (.+)$", other.read_text(), re.MULTILINE) if anchor else []
        known = [re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings]
        assert not anchor or anchor in known, link
