"""RESULTS.md and the charts: what the last whole run came to, and how to read it."""

import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

import django

from benchmarks import chart, peers, text
from benchmarks.rows import Result
from tests.servers import redis_binary

FOLDER = Path(__file__).parent
PAGE, CHARTS = FOLDER / "RESULTS.md", FOLDER / "charts"

READING = """\
How to read it:

- **Compare within one table only.** Its contenders ran interleaved, in many short slices in turn, in
  one process: what the machine did meanwhile hit all alike. Microseconds are this machine's; ratios
  carry over.
- Each table has **one thing that varies**, named above it. Where libraries are compared they still
  differ in what they decide by (the last column): a window that counts does less than GCRA.
- *middle half* is where half of the rounds lay. Where it is wider than the distance between two
  contenders, this run does not tell them apart.
- *one core*: this process and Redis share a core, so that a trip waits for no other core to wake up.
  *two cores*: each has its own. The second costs everybody more and flatters every ratio.
- *adds* is what a door adds to the same view without it.
- **The floors** (`floors.py`) are the least that the work costs, and nobody tunes them.
- **Correctness and memory stand beside latency**: a library that admits 241 of a limit of 100 has not
  done the same work.
"""


def write(results: Sequence[Result], sections: Sequence[tuple[str, str]], seconds: float) -> None:
    """`sections`: titles and Markdown of what is no row."""
    CHARTS.mkdir(exist_ok=True)
    for old in CHARTS.glob("*.svg"):
        old.unlink()
    parts = [_head(seconds), READING, goals(results)]
    for result in results:
        name = f"{result.row.name}-{result.placed.replace(' ', '-')}.svg"
        (CHARTS / name).write_text(chart.draw(result))
        parts.append(f"{text.table(result)}\n\n![{result.row.title}](charts/{name})\n")
    parts += [f"## {title}\n\n{body}\n" for title, body in sections]
    parts.append(_absent())
    PAGE.write_text("\n".join(parts).rstrip() + "\n")


def goals(results: Sequence[Result]) -> str:
    """The goals of all rows in one table."""
    rows = ["## Goals\n", "| row | cores | goal | reached |  |", "| :-- | :-- | :-- | --: | :-- |"]
    for result in results:
        for goal in result.row.goals:
            if (reached := result.reached(goal)) is not None:
                found, kept = reached
                said = f"{goal.contender} ≤ {goal.most:.2f} × {goal.of}"
                cells = [result.row.name, result.placed, said, f"{found:.2f} ×"]
                rows.append("| " + " | ".join([*cells, "kept" if kept else "**missed**"]) + " |")
    return "\n".join(rows) + "\n\n## Latency\n"


def _head(seconds: float) -> str:
    found = subprocess.run(
        [redis_binary(), "--version"], capture_output=True, text=True, check=True
    )
    server = found.stdout.split("v=")[1].split()[0]
    now = datetime.now(timezone.utc)
    load = os.getloadavg()
    versions = ", ".join(f"{name} {peers.version(name)}" for name in peers.PEERS)
    return f"""# What a decision costs

Written by `make bench` on {now:%d %B %Y} in {seconds:.0f} s; `make bench ONLY=redis` runs one part and
writes nothing. Machine: {_processor()}, {os.cpu_count()} cores, load {load[0]:.1f} at the end (the run
itself takes 1 to 2). Python {platform.python_version()}, Django {django.__version__}, redis-py
{peers.version("redis")} with hiredis {peers.version("hiredis")}, Redis {server}
on loopback, redis-py's answers parsed by hiredis for everybody. Peers: {versions}.
"""


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((each.split(": ")[1] for each in lines if each.startswith("model name")), "unknown")


def _absent() -> str:
    if not peers.absent:
        return ""
    lines = [f"- {name}: {reason:.200}" for name, reason in peers.absent.items()]
    return "## Took no part, or not in all of it\n\n" + "\n".join(lines)
