"""A PostgreSQL of the tests' own: on a free port, in a temporary folder, keeping nothing.

`python -m tests.postgresql COMMAND…` runs a command with such a server in TEST_DATABASE_URL.
"""

import atexit
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.servers import NoServer, free_port

#: Where Debian keeps what is not on PATH, one folder a version.
_DEBIAN = Path("/usr/lib/postgresql")
#: It will not run as root, so root lends it one of these users.
_USERS = ("postgres", "nobody")


def binary(name: str) -> str:
    """One of PostgreSQL's programs: on PATH, or the newest that Debian has installed."""
    installed = sorted(_DEBIAN.glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
    found = shutil.which(name) or (str(installed[-1]) if installed else None)
    if found is None:
        raise NoServer(f"These tests need {name}: install it (apt-get install postgresql).")
    return found


class PostgreSQL:
    """Runs from construction until `stop`; `url` leads to its database `postgres`."""

    def __init__(self) -> None:
        initdb, pg_ctl = binary("initdb"), binary("pg_ctl")
        self._user = _user()
        self._pg_ctl = pg_ctl
        self._folder = Path(tempfile.mkdtemp(prefix="ratelimit-postgresql-"))
        self._data = self._folder / "data"
        if self._user is not None:
            shutil.chown(self._folder, self._user)
        self.port = free_port()
        self.url = f"postgresql://tests@127.0.0.1:{self.port}/postgres"
        atexit.register(self.stop)
        self._run(initdb, "--pgdata", self._data, "--username", "tests", "--auth", "trust", "-N")
        self.start()

    def start(self) -> None:
        """Start it again after `crash` or `shut_down`, with the data of before."""
        options = f"-p {self.port} -k {self._folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        # Every xdist worker and every process of a site holds connections of its own.
        options += " -c max_connections=200"
        log = self._folder / "log"
        try:
            self._run(self._pg_ctl, "start", "-w", "-D", self._data, "-l", log, "-o", options)
        except NoServer as error:
            said = log.read_text(errors="replace") if log.exists() else ""
            raise NoServer(f"{error}\n{said}") from None

    def shut_down(self) -> None:
        """Stop it as an administrator would in a hurry: connections are cut, data stay."""
        self._run(self._pg_ctl, "stop", "-w", "-D", self._data, "-m", "immediate")

    @property
    def pid(self) -> int:
        return int((self._data / "postmaster.pid").read_text().split()[0])

    def pause(self) -> None:
        """Connections are accepted by the kernel, and nothing answers."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def stop(self) -> None:
        """End it and remove its data; to call it twice does no harm."""
        atexit.unregister(self.stop)
        if (self._data / "postmaster.pid").exists():
            self.shut_down()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, *command: str | Path) -> None:
        # Not a pipe: the server that pg_ctl leaves behind would hold it open.
        with tempfile.TemporaryFile() as said:
            ran = subprocess.run(
                command,
                user=self._user,
                group=self._user and pwd.getpwnam(self._user).pw_gid,
                extra_groups=None if self._user is None else [],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                check=False,
            )
            if ran.returncode:
                said.seek(0)
                text = said.read().decode(errors="replace")
                raise NoServer(f"{Path(command[0]).name} failed:\n{text}")


def _user() -> str | None:
    """Whose processes they are; None: ours."""
    if os.geteuid():
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in _USERS if name in known)


def main(command: list[str]) -> int:
    server = PostgreSQL()
    try:
        return subprocess.call(command, env={**os.environ, "TEST_DATABASE_URL": server.url})
    finally:
        server.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
