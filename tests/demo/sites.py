"""Runs parts of the demo in processes of their own, each with its own database."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from demo_project.servers import HOST, ROOT, Processes, free_port, site_answers


class Site(NamedTuple):
    url: str
    password: str


def surroundings(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "REDIS_URL"}
    return {**kept, "DEMO_DB": str(folder / "demo.sqlite3")}


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=surroundings(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=180,
        check=False,
    )


@contextlib.contextmanager
def served(folder: Path) -> Iterator[Site]:
    """The demo under gunicorn: one process, whose memory is everybody's, and eight threads."""
    seeded = run(folder, "-m", "demo_project.seed")
    assert seeded.returncode == 0, seeded.stdout
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", "demo_project.wsgi", "--bind", f"{HOST}:{port}"]
    command += ["--worker-class", "gthread", "--workers", "1", "--threads", "8"]
    with Processes() as processes:
        # pytest-django puts the tests' own settings into the environment.
        env = {**surroundings(folder), "DJANGO_SETTINGS_MODULE": "demo_project.settings"}
        process = processes.start(command, env, f"http://{HOST}:{port}")
        process.wait_until(site_answers)
        yield Site(process.url, seeded.stdout.split()[-1])
