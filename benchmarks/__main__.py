"""`make bench`: what a decision costs here, as ratios against floors in the same run.

`python -m benchmarks [name …]` runs some parts and prints them; without names it runs all and
writes RESULTS.md and the charts. Machines differ and are noisy; ratios carry over.
"""

import os
import sys
import time
from contextlib import ExitStack

from tests.servers import RedisServer

SERVER = RedisServer()
os.environ["BENCH_REDIS"] = SERVER.url
os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.site"

import django  # noqa: E402 - the settings name the server

django.setup()

from benchmarks import cores, page, peers, sections, text  # noqa: E402
from benchmarks.measure import per_call  # noqa: E402
from benchmarks.rows import ROWS, WAITING, Bench, Result  # noqa: E402


def measured(name: str, found: dict[str, peers.Peer]) -> list[Result]:
    """A row on one core, and across two if it waits for Redis."""
    results = []
    for apart in (False, True) if name in WAITING else (False,):
        SERVER.client().flushall()
        with ExitStack() as stack:
            stack.enter_context(cores.pinned(SERVER.pid, apart))
            row = ROWS[name](Bench(SERVER, found, stack))
            functions = {each: made.timed for each, made in row.contenders.items()}
            placed = "two cores" if apart else "one core"
            results.append(Result(row, placed, per_call(functions, failed)))
        print(f"\n{text.table(results[-1])}", flush=True)
    return results


def failed(name: str, error: Exception) -> None:
    """A peer that fails is listed with the reason; if one of ours does, the run is void."""
    if name not in peers.PEERS:
        raise error
    peers.absent[name] = f"{type(error).__name__}: {error}"


def main(wanted: list[str]) -> None:
    known = [*ROWS, *sections.SECTIONS]
    if unknown := set(wanted) - set(known):
        sys.exit(f"There is no {sorted(unknown)[0]!r}; there are: {', '.join(known)}.")
    found, started = peers.available(), time.monotonic()
    results: list[Result] = []
    written = []
    for name in ROWS:
        if not wanted or name in wanted:
            results += measured(name, found)
    for name, (title, make) in sections.SECTIONS.items():
        if not wanted or name in wanted:
            SERVER.client().flushall()
            body = make(SERVER, found)
            written.append((title, body))
            print(f"\n## {title}\n\n{body}", flush=True)
    print(f"\n{page.goals(results)}" if results else "")
    if not wanted:
        page.write(results, written, time.monotonic() - started)
        print(f"Written: {page.PAGE}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    finally:
        SERVER.stop()
