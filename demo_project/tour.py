"""A tour of the rate limiter on a small site: `make demo`, or `make demo ARGS=--once`.

It drives real servers over HTTP, says what each limit admitted, and fails if that is not what the
documentation promises. Without --once the site then stays up until Ctrl-C.
"""

import argparse
import contextlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import django

from demo_project import seed
from demo_project.report import Report
from demo_project.servers import NotStarted, Process, Processes, redis_answers, site_answers


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    report = Report()
    with contextlib.ExitStack() as stack:
        if options.once and not os.environ.get("DEMO_DB"):
            # So that a run which ends by itself leaves nothing behind.
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="demo-"))
            os.environ["DEMO_DB"] = str(Path(folder) / "db.sqlite3")
        processes = stack.enter_context(Processes())
        try:
            return _tour(report, processes, options)
        except NotStarted as error:
            print(f"\nThe tour cannot go on: {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("\nInterrupted; what was started is stopped.", file=sys.stderr)
            return 130


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--once", action="store_true", help="end after the tour")
    parser.add_argument("--port", type=int, default=0, help="of the site; by default a free one")
    return parser.parse_args(arguments)


def _tour(report: Report, processes: Processes, options: argparse.Namespace) -> int:
    began = time.monotonic()
    if database := os.environ.get("DEMO_DB"):
        os.environ["DEMO_DB"] = str(Path(database).resolve())
    os.environ["DJANGO_SETTINGS_MODULE"] = "demo_project.settings"
    django.setup()
    # They import the app, so they come after the setup.
    from demo_project import live, replays

    redis_url = os.environ.get("REDIS_URL")
    if redis_url and not redis_answers(redis_url):
        raise NotStarted(f"no Redis answers at {redis_url}, as REDIS_URL says.")
    seed.migrate()
    seed.policies(live.LIMIT, live.DAY)
    site = processes.site(redis_url, options.port)
    site.wait_until(site_answers)
    store = "the Redis of REDIS_URL" if redis_url else "its own memory"
    print(f"The demo's site runs in one process on {site.url}, its buckets in {store}.", flush=True)

    live.every_endpoint(report, site)
    replays.boundary(report)
    replays.access_log(report)
    live.edit(report, processes, site)
    live.three_processes(report, processes)
    kept = report.conclude()
    report.say(f"The tour took {time.monotonic() - began:.0f} s.")
    if not options.once:
        _stay(report, site)
    return 0 if kept else 1


def _stay(report: Report, site: Process) -> None:
    """Until Ctrl-C, or until the server ends by itself."""
    password = seed.for_page()
    report.say()
    report.say(f"Page:   {site.url}/")
    report.say(f"Admin:  {site.url}/admin/   user {seed.USER}, password {password}")
    report.say("Limits are now 10 in 30 s, to be watched and edited. Ctrl-C ends the demo.")
    try:
        site.running.wait()
    except KeyboardInterrupt:
        print("\nStopped.", flush=True)
        return
    raise NotStarted(f"the site has ended by itself:\n{site.output()[-2000:]}")


if __name__ == "__main__":
    sys.exit(main())
