"""`python -m tests.soak MINUTES [SEED [SECONDS]]`: a fault every SECONDS (60), then a table.

Ends with 1 if any promise was broken. The seed that is printed makes the same faults in the same
order; what is asked when depends on the machine too.
"""

import os
import random
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import django

from tests.chaos.inside import know_each_other
from tests.chaos.load import Load
from tests.chaos.proxy import Proxy
from tests.live import databases
from tests.live.processes import Server, Site
from tests.servers import RedisServer
from tests.time.shifted import Clock

from .faults import FAULTS, Trouble
from .health import Health
from .judge import Judge
from .policies import RULES, Crowd
from .report import report

#: Requests a second.
RATE = 500
#: Of each of gunicorn's processes: a Redis that takes just less than TIMEOUT holds a thread for so
#: long, and all together must be able to answer what comes meanwhile.
THREADS = "32"
_POLICIES = f"""
for fields in {[rule.fields for rule in RULES.values()]}:
    Policy.objects.create(**fields)
"""


def main(minutes: float, seed: int, every: float) -> int:
    """How the process ends."""
    print(f"{minutes:g} minutes, seed {seed}, a fault every {every:g} seconds", flush=True)
    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="ratelimit-soak-")))
        judge, chance = Judge(), random.Random(seed)
        clock = Clock(folder)
        clock.run(0)
        server = RedisServer(env=clock.env)
        running.callback(server.stop)
        proxy = Proxy(server.port)
        running.callback(proxy.close)
        site = running.enter_context(_site(folder, proxy.url))
        editor = site.editor()
        editor.run(_POLICIES)
        servers = [site.gunicorn(2, "--threads", THREADS), site.uvicorn()]
        trouble = Trouble(server, proxy, clock, editor, judge, chance)
        pids = _ready(servers)
        health = Health(pids, server, judge)
        began = time.monotonic()
        # An event loop on one core has its part, and not half of it.
        ports = [servers[0].port] * 4 + [servers[1].port]
        with Load(ports, RATE, Crowd(seed), judge.saw) as load:
            _run(trouble, health, began + 60 * minutes, every)
        judge.settle()
        health.concludes()
        if load.sent != sum(judge.took):
            judge.says("every request is answered", f"{load.sent} sent, {sum(judge.took)} judged")
        report(judge, health, servers, load, time.monotonic() - began)
    return 1 if judge.broken else 0


def _site(folder: Path, redis: str) -> Site:
    ratelimit = {"TIMEOUT": 0.1, "DEADLINE": 0.25, "MAX_BUCKETS": 20_000}
    site = Site(folder, databases.empty(folder), redis=redis, ratelimit=ratelimit, lean=True)
    site.manage("migrate", "--verbosity", "0")
    return site


def _ready(servers: list[Server]) -> set[int]:
    """Every process answers and knows of all; their ids."""
    gunicorn, uvicorn = servers
    gunicorn.wait(2)
    uvicorn.wait(1)
    know_each_other(*servers)
    return gunicorn.pids | uvicorn.pids


def _run(trouble: Trouble, health: Health, end: float, every: float) -> None:
    """Each kind of fault once in a round, the rounds in ever another order."""
    coming: list[int] = []
    while time.monotonic() < end:
        began = time.monotonic()
        quiet = health.writes(), trouble.judge.writes
        while (left := began + every - 15 - time.monotonic()) > 0:
            time.sleep(min(5, left))
            health.sample()
        health.only_admissions_write(quiet, time.monotonic() - began)
        if not coming:
            coming = list(range(len(FAULTS)))
            trouble.chance.shuffle(coming)
        fault = FAULTS[coming.pop()]
        started = time.monotonic()
        fault(trouble)
        words = (fault.__doc__ or "").splitlines()[0]
        took = time.monotonic() - started
        print(f"{fault.__name__}: {words} ({took:.1f} s) {dict(trouble.judge.broken)}", flush=True)
        time.sleep(max(0, began + every - time.monotonic()))


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    given = sys.argv[1:]
    sys.exit(
        main(
            float(given[0]) if given else 20,
            int(given[1]) if len(given) > 1 else random.SystemRandom().randrange(10_000),
            float(given[2]) if len(given) > 2 else 60,
        )
    )
