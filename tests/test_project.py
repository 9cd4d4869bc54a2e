"""The project itself: what the wheel carries, the size of files, the version, the lock."""

import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import tomli
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import ratelimit_app

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "ratelimit_app"
LINES = 220

# One worker, so that the wheel is built once.

# Run by the fresh environment's Python, away from the checkout: what a site gets that installs us.
USE_WHEEL = """
import pathlib, sys
import django
from django.conf import settings
settings.configure(
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "ratelimit_app"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    CACHES={"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}},
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}],
    SECRET_KEY="wheel",
)
django.setup()
import ratelimit_app
assert pathlib.Path(ratelimit_app.__file__).is_relative_to(sys.prefix), ratelimit_app.__file__
from django.core.management import call_command
from django.template.loader import get_template
call_command("migrate", verbosity=0)
call_command("makemigrations", "ratelimit_app", check=True, dry_run=True, verbosity=0)
get_template("429.html")
"""


def run(*command: str | Path, cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel of this checkout, and Django borrowed from this one."""
    tmp = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", tmp / "dist", cwd=ROOT)
    (wheel,) = (tmp / "dist").glob("*.whl")
    run(sys.executable, "-m", "venv", tmp / "env", cwd=tmp)
    run(tmp / "env/bin/python", "-m", "pip", "install", "-q", "--no-deps", wheel, cwd=tmp)
    (packages,) = (tmp / "env/lib").glob("python*/site-packages")
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return tmp


def installed(site: Path) -> set[str]:
    (package,) = (site / "env/lib").glob("python*/site-packages/ratelimit_app")
    return {path.relative_to(package).as_posix() for path in package.rglob("*") if path.is_file()}


def test_wheel_carries_every_file_of_the_package(site):
    ours = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert ours - installed(site) == set()


def test_wheel_carries_what_is_not_python(site):
    wanted = {"py.typed", "stores/redis.lua", "templates/429.html"}
    assert wanted - installed(site) == set()


def test_wheel_works_on_a_site(site):
    run(site / "env/bin/python", "-I", "-c", USE_WHEEL, cwd=site)


def test_each_algorithm_has_its_twin():
    python = {path.stem for path in (PACKAGE / "algorithms").glob("*.py")} - {"__init__", "base"}
    lua = {path.stem for path in (PACKAGE / "algorithms").glob("*.lua")}
    assert python == lua
    assert python


def test_no_file_holds_two_ideas():
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines())
        for path in PACKAGE.rglob("*.py")
        if "migrations" not in path.parts
    }
    assert {name: lines for name, lines in lengths.items() if lines > LINES} == {}


def test_changelog_names_the_version():
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[:2] == ["Unreleased", ratelimit_app.__version__]


def test_lock_meets_the_project():
    project = tomli.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [Requirement(line) for line in project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        asked += [Requirement(line) for line in extra]
    locked: dict[str, list[str]] = {}
    for line in (ROOT / "requirements-dev.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            pin = Requirement(line)
            (version,) = pin.specifier
            locked.setdefault(canonicalize_name(pin.name), []).append(version.version)
    for want in asked:
        if want.name != project["name"]:
            versions = locked.get(canonicalize_name(want.name), [])
            assert versions, f"{want.name} is not in the lock: make lock"
            assert all(want.specifier.contains(v) for v in versions), want
