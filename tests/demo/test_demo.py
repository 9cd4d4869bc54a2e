"""The tour keeps its promises and notices a broken one; the page works in a real browser."""

import contextlib
import re
import signal
import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from demo_project.servers import ROOT
from tests.demo.sites import Site, run, surroundings

ALGORITHMS = {
    "fixed-window": "Fixed window",
    "sliding-window-log": "Sliding window log",
    "sliding-window-counter": "Sliding window counter",
    "token-bucket": "Token bucket",
    "leaky-bucket": "Leaky bucket",
    "gcra": "GCRA",
}

#: Seeds as the tour does, then lowers one limit behind its back; there is no redis-server either.
PLANTED = """
import sys
from demo_project import seed, servers, tour
honest = seed.policies
def planted(limit, period):
    honest(limit, period)
    from ratelimit_app.models import Policy
    Policy.objects.filter(slug="gcra").update(limit=limit - 1)
seed.policies = planted
servers.redis_binary = lambda: None
sys.exit(tour.main(["--once"]))
"""


@contextlib.contextmanager
def page_of(site: Site, browser: Browser) -> Iterator[Page]:
    """The demo's page on a phone; an error of its script, or against its CSP, fails the test."""
    errors: list[str] = []
    page = browser.new_page(viewport={"width": 375, "height": 812})
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text))
    page.goto(site.url)
    yield page
    page.close()
    # Chromium reports each 429 by itself.
    assert [error for error in errors if "status of 429" not in error] == []


def rows(output: str, name: str) -> list[list[str]]:
    return [line.split()[1:3] for line in output.splitlines() if line.split()[:1] == [name]]


@pytest.mark.alone
def test_tour_keeps_its_promises(tmp_path):
    done = run(tmp_path, "-m", "demo_project.tour", "--once")
    assert done.returncode == 0, done.stdout
    assert "Everything was as promised." in done.stdout
    assert rows(done.stdout, "fixed_window") == [["100", "50"], ["100", "100"], ["9,039", "961"]]
    assert rows(done.stdout, "gcra") == [["100", "50"], ["100", "0"], ["9,478", "522"]]
    assert rows(done.stdout, "token_bucket")[-1] == ["50", "100"]
    assert re.search(r"obeyed 0\.\d\d s after the write", done.stdout)
    assert re.search(r"each its own memory +300 +150 ", done.stdout)
    assert re.search(r"one Redis for all +100 +350 ", done.stdout)


def test_broken_promise_fails_the_tour(tmp_path):
    done = run(tmp_path, "-c", PLANTED)
    assert done.returncode == 1, done.stdout
    assert "Not as promised: gcra: 99 and 51, promised was 100 and 50" in done.stdout
    assert "Left out: it needs a redis-server." in done.stdout


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 128 + signal.SIGTERM)]
)
def test_signal_stops_every_process(tmp_path, number, code):
    command = [sys.executable, "-m", "demo_project.tour", "--once"]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=surroundings(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as tour:
        assert tour.stdout is not None
        (url,) = re.findall(r"http://[\d.:]+", tour.stdout.readline())
        assert httpx.get(url, trust_env=False).status_code == 200
        tour.send_signal(number)
        output, _ = tour.communicate(timeout=30)
    assert tour.returncode == code, output
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, trust_env=False)


@pytest.mark.system
def test_page_sends_one_and_a_burst(fresh_site, browser):
    with page_of(fresh_site, browser) as page:
        card = page.get_by_role("region", name="Sliding window log")
        expect(card.locator('[data-show="policy"]')).to_have_text("10 in 30 s")
        expect(card.locator('[data-show="left"]')).to_have_text("10 of 10")

        card.get_by_role("button", name="Send one").click()
        expect(card.locator('[data-show="left"]')).to_have_text("9 of 10")
        expect(card.get_by_role("status")).to_have_text("Sent 1: 1 admitted, 0 refused.")

        card.get_by_role("button", name="Send a burst of 20").click()
        expect(card.locator('[data-show="admitted"]')).to_have_text("10")
        expect(card.locator('[data-show="refused"]')).to_have_text("11")
        expect(card.locator('[data-show="left"]')).to_have_text("0 of 10")
        expect(card.get_by_role("meter")).to_have_js_property("value", 0)
        told = re.compile(r"^Sent 20: 9 admitted, 11 refused\. Try again in \d+ s\.$")
        expect(card.get_by_role("status")).to_have_text(told)
        expect(card.locator('[data-show="retry"]')).to_have_text(re.compile(r"^in \d+ s$"))


@pytest.mark.system
def test_page_has_a_card_for_each_algorithm_and_fits_a_phone(site, browser):
    with page_of(site, browser) as page:
        for title in ALGORITHMS.values():
            expect(page.get_by_role("region", name=title)).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 375


def test_page_has_no_inline_script(site):
    answer = httpx.get(site.url, trust_env=False)
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    assert re.findall(r"<script[^>]*>(.*?)</script>", answer.text, re.DOTALL) == [""]
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", answer.text)


@pytest.mark.parametrize("path", ["demo/demo.js", "demo/demo.css", "admin/css/base.css"])
def test_static_files_are_served(site, path):
    answer = httpx.get(f"{site.url}/static/{path}", trust_env=False)
    assert answer.status_code == 200
    assert answer.text


@pytest.mark.parametrize("slug", [*ALGORITHMS, "login", "search"])
def test_endpoint_answers_with_its_headers(site, slug):
    answer = httpx.get(f"{site.url}/api/{slug}/", trust_env=False)
    assert answer.status_code == 200
    assert answer.headers["RateLimit"].startswith(f'"{slug}";r=')
    assert answer.headers["RateLimit-Policy"].startswith(f'"{slug}";q=')


@pytest.mark.parametrize("slug", ALGORITHMS)
def test_level_shows_the_bucket_and_spends_nothing(site, slug):
    left = []
    for _ in range(15):
        answer = httpx.get(f"{site.url}/level/{slug}/", trust_env=False)
        assert answer.status_code == 204
        assert answer.headers["RateLimit-Policy"] == f'"{slug}";q=10;w=30'
        left += [int(number) for number in re.findall(r";r=(\d+)", answer.headers["RateLimit"])]
    assert len(left) == 15
    assert left == sorted(left)


@pytest.mark.system
def test_an_operator_edits_limits_in_the_admin(browser, fresh_site):
    page = browser.new_page()
    page.goto(f"{fresh_site.url}/admin/")
    page.fill("#id_username", "demo")
    page.fill("#id_password", fresh_site.password)
    page.press("#id_password", "Enter")
    page.get_by_role("link", name="Policies", exact=True).click()

    # In the list: the row of the fixed window.
    row = page.get_by_role("row").filter(has_text="fixed-window")
    row.locator("input[type=number][name$=-limit]").fill("3")
    page.get_by_role("button", name="Save", exact=True).first.click()
    expect(page.get_by_text("1 policy was changed successfully.")).to_be_visible()
    expect(row.locator("td.field-rate")).to_have_text(re.compile(r"^3 per "))

    # In the form: nonsense is refused with the value and the fix, and then mended.
    row.get_by_role("link", name="fixed-window").click()
    page.fill("#id_burst", "7")
    page.get_by_role("button", name="Save", exact=True).first.click()
    expect(page.get_by_text("burst 7 has no meaning for fixed_window")).to_be_visible()
    page.fill("#id_burst", "")
    page.get_by_role("button", name="Save", exact=True).first.click()
    expect(page.get_by_text("was changed successfully.")).to_be_visible()

    # In bulk.
    row.locator("input.action-select").check()
    page.select_option("select[name=action]", label="Switch the selected policies off")
    page.get_by_role("button", name="Run").or_(page.get_by_role("button", name="Go")).first.click()
    expect(row.locator("select[name$=-mode]")).to_have_value("off")
    page.close()
