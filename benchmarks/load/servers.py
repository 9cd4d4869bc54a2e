"""gunicorn and uvicorn on the site that is measured, one process each, on a core of their own."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.cores import cores
from tests.servers import free_port

COMMANDS = {
    "gunicorn": [
        *("gunicorn", "django.core.wsgi:get_wsgi_application()", "--worker-class", "gthread"),
        *("--workers", "1", "--threads", "4", "--keep-alive", "60", "--log-level", "critical"),
        *("--bind", "127.0.0.1:{port}"),
    ],
    "uvicorn": [
        *("uvicorn", "django.core.asgi:get_asgi_application", "--factory", "--no-access-log"),
        *("--loop", "uvloop", "--http", "httptools", "--log-level", "critical"),
        *("--host", "127.0.0.1", "--port", "{port}"),
    ],
}
_URLS = {"gunicorn": "benchmarks.urls", "uvicorn": "benchmarks.aurls"}


@contextmanager
def serving(kind: str, store: str) -> Iterator[int]:
    """A server whose app limits by `store` (none: without the app), and its port."""
    port = free_port()
    environ = os.environ | {"BENCH_STORE": store, "BENCH_URLS": _URLS[kind]}
    command = [each.format(port=port) for each in COMMANDS[kind]]
    allowed = cores()
    # Inherited by all of its processes and threads; the first core is theirs.
    os.sched_setaffinity(0, {allowed[0]})
    try:
        process = subprocess.Popen([sys.executable, "-m", *command], env=environ)
    finally:
        os.sched_setaffinity(0, allowed)
    try:
        _wait(process, port)
        yield port
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait(process: "subprocess.Popen[bytes]", port: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"{process.args!r} does not listen on port {port}")
