"""A site in real processes: gunicorn, uvicorn, manage.py, and one that edits."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import databases
from .asking import at_once

ROOT = Path(__file__).parent.parent.parent


class Failed(Exception):
    """A process ended, or did not answer in time; says what it wrote."""


class Server:
    """A server on a port that was bound beforehand, so that nobody else can take it.

    `{fd}` in the command stands for the socket. `pids` are the processes that answer.
    """

    def __init__(
        self, command: list[str], env: Mapping[str, str], log: Path, cwd: Path = ROOT
    ) -> None:
        self._log = log
        self.pids: set[int] = set()
        with socket.socket() as listener, log.open("wb") as output:
            listener.bind(("127.0.0.1", 0))
            listener.listen(2048)
            self.port: int = listener.getsockname()[1]
            fd = listener.fileno()
            self._process = subprocess.Popen(
                [part.replace("{fd}", str(fd)) for part in command],
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=[fd],
                # A group of its own, so that no worker outlives it.
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait(self, workers: int, path: str = "/slow/ready/", seconds: float = 60) -> None:
        """Until that many processes have answered."""
        deadline = time.monotonic() + seconds
        while len(self.pids) < workers:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise Failed(self.output())
            with contextlib.suppress(OSError):
                self.pids |= {answer.pid for answer in at_once([self.port] * 3 * workers, path)}

    def output(self) -> str:
        return self._log.read_text(errors="replace")

    def stop(self) -> None:
        """End it in order, and then whatever it left in its group; twice does no harm."""
        if self._process.poll() is None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=10)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


class Editor:
    """Another process of the site, which serves nobody; see site/editor.py."""

    def __init__(self, env: Mapping[str, str], log: Path) -> None:
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.live.site.editor"],
                cwd=ROOT,
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                text=True,
            )
        self.value: Any = None
        self.run("from ratelimit_app.models import Policy")

    def run(self, code: str) -> float:
        """The moment after its commit; what it left in the name `value` stands in `value`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(code) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if answer["error"]:
            raise Failed(answer["error"])
        self.value = answer["value"]
        self.began: float = answer["before"]
        after: float = answer["after"]
        return after

    def stop(self) -> None:
        # The end of its input is its end.
        self._process.communicate(timeout=10)


class Site:
    """A folder, a database and settings; on leaving the block no process is left."""

    def __init__(
        self,
        folder: Path,
        database: dict[str, Any],
        *,
        redis: str | None = None,
        ratelimit: Mapping[str, Any] | None = None,
        rules: dict[str, Any] | None = None,
        **more: Any,
    ) -> None:
        self.folder = folder
        self.databases = {"default": database} | ({"rules": rules} if rules else {})
        #: What its servers are started by, such as a command that puts them into a namespace.
        self.by: list[str] = []
        self._running = contextlib.ExitStack()
        self._started = 0
        live = {
            "folder": str(folder),
            "databases": self.databases,
            "redis": redis,
            # The machine may be busy, and no request may be let through for a time-out.
            "ratelimit": {"TIMEOUT": 10, "DEADLINE": 25, **(ratelimit or {})},
            **more,
        }
        self.env = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.live.site.settings",
            "PYTHONPATH": str(ROOT),
            "LIVE": json.dumps(live),
        }

    def __enter__(self) -> "Site":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all of its processes and drop its databases."""
        self._running.close()
        for database in self.databases.values():
            databases.drop(database)

    def gunicorn(self, workers: int = 2, *options: str) -> Server:
        """`workers` processes behind one port."""
        command = [sys.executable, "-m", "gunicorn", "tests.live.site.wsgi", "--bind", "fd://{fd}"]
        command += ["--workers", str(workers), "--graceful-timeout", "1", *options]
        command += ["--control-socket", str(self.folder / f"control-{self._started}")]
        return self._started_server(command)

    def uvicorn(self, *options: str) -> Server:
        """One process."""
        command = [sys.executable, "-m", "uvicorn", "tests.live.site.asgi:application"]
        command += ["--fd", "{fd}", "--no-access-log", "--timeout-graceful-shutdown", "1"]
        command += options
        return self._started_server(command)

    def _started_server(self, command: list[str]) -> Server:
        server = Server([*self.by, *command], self.env, self._log())
        self._running.callback(server.stop)
        return server

    def editor(self) -> Editor:
        editor = Editor(self.env, self._log())
        self._running.callback(editor.stop)
        return editor

    def manage(self, *arguments: str) -> str:
        """What `manage.py` wrote; it must end well."""
        return self.python("-m", "django", *arguments)

    def python(self, *arguments: str) -> str:
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command, cwd=ROOT, env=self.env, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise Failed(done.stdout + done.stderr)
        return done.stdout + done.stderr

    def _log(self) -> Path:
        self._started += 1
        return self.folder / f"log-{self._started}"
