"""The demo's site under a real server, and a real browser."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.demo.sites import Site, served


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with served(tmp_path_factory.mktemp("site")) as site:
        yield site


@pytest.fixture
def fresh_site(tmp_path: Path) -> Iterator[Site]:
    """A site of the test's own, whose buckets nobody else has spent."""
    with served(tmp_path) as site:
        yield site


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    binary = shutil.which("chromium")
    if binary is None:
        pytest.fail("These tests need Chromium: apt-get install chromium.", pytrace=False)
    switches = "--no-sandbox --disable-gpu --no-first-run --disable-background-networking "
    switches += "--disable-component-update --disable-sync"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=binary, args=switches.split())
        yield browser
        browser.close()
