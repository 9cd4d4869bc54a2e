"""PostgreSQL stops while a site serves: the last policies go on, and nobody is asked too often.

On a server of the test's own, since it is stopped; so these need PostgreSQL's programs.
"""

import itertools
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.postgresql import PostgreSQL

from . import databases
from .asking import Watch, ask
from .processes import Editor, Site

pytestmark = pytest.mark.system

POLICIES = """
for slug, path in (("edited", "/slow/**"), ("named", "")):
    Policy.objects.create(
        slug=slug, limit=10, period=360_000, key="header", key_name="X-Client", path=path,
    )
"""
RENAME = (
    "from django.db import connection\nconnection.cursor().execute('ALTER TABLE {} RENAME TO {}')"
)
ROWS = "from django.contrib.auth.models import Group\nvalue = Group.objects.count()"
#: What the server cuts off would be an error of the next query.
HANG_UP = "from django.db import connections\nconnections.close_all()"


@pytest.fixture
def postgresql() -> Iterator[PostgreSQL]:
    server = PostgreSQL()
    yield server
    server.stop()


class Deaf:
    """Stands where the server stood, hangs up on everybody, and remembers when they came."""

    def __init__(self, port: int) -> None:
        self.came: list[float] = []
        self._listener = socket.create_server(("127.0.0.1", port))
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.came.append(time.monotonic())
            connection.close()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


def database(server: PostgreSQL, folder: Path) -> dict[str, Any]:
    # One connection an attempt: none to ask for encryption before it.
    options = {"sslmode": "disable", "gssencmode": "disable"}
    found = {**databases.postgresql("template1", server.url), "OPTIONS": options}
    return databases.copy(found, folder)


def written(editor: Editor) -> int:
    editor.run(ROWS)
    return int(editor.value)


@pytest.mark.parametrize("store", ["redis", "memory"])
def test_the_last_policies_go_on_and_each_pause_is_kept(tmp_path, postgresql, redis_url, store):
    """Policies are on PostgreSQL, and what the site writes is elsewhere, in transactions."""
    theirs = {**databases.sqlite(tmp_path / "theirs.sqlite3"), "ATOMIC_REQUESTS": True}
    made: dict[str, Any] = {
        "redis": redis_url if store == "redis" else None,
        "ratelimit": {"RELOAD": 0.5},
    }
    with Site(tmp_path, theirs, rules=database(postgresql, tmp_path), **made) as site:
        for alias in ("default", "rules"):
            site.manage("migrate", "--verbosity", "0", "--database", alias)
        editor, server = site.editor(), site.gunicorn(1, "--threads", "4")
        editor.run(POLICIES)
        server.wait(1)
        with Watch([server.port], "/slow/edited/") as watch:
            editor.run(HANG_UP)
            postgresql.shut_down()
            deaf = Deaf(postgresql.port)
            # The fifth attempt comes after pauses of 0.5, 1, 2 and 4 seconds.
            writes = write_until(server.port, lambda: len(deaf.came) == 5)
            deaf.close()
            postgresql.start()
            since = editor.run("Policy.objects.filter(slug='edited').update(limit=20)")
            # On Redis the edit is told; else the next pause has to pass, of 16 seconds at most.
            watch.obeyed(server.pids, 20, since, within=1 if store == "redis" else 17)
        rows = written(editor)

    pauses = [after - before for before, after in itertools.pairwise(deaf.came)]
    assert [
        pause for pause, least in zip(pauses, [0.5, 1, 2, 4], strict=True) if pause < least
    ] == []
    assert rows == writes
    assert {answer.status for answer in watch.answers} == {200}
    assert {answer.limit for answer in watch.answers} == {10, 20}
    assert watch.fell_back() == []


@pytest.mark.parametrize("goes", ["before the first request", "meanwhile"])
@pytest.mark.parametrize("store", ["redis", "memory"])
def test_a_table_that_is_not_there_breaks_no_transaction_of_the_site(
    tmp_path, postgresql, redis_url, store, goes
):
    """All in one database, where PostgreSQL breaks a transaction in which one query fails."""
    theirs = {**database(postgresql, tmp_path), "ATOMIC_REQUESTS": True}
    policy = {"slug": "named", "limit": 10, "period": 360_000, "key": "header"}
    ratelimit = {"RELOAD": 0.5, "POLICIES": [{**policy, "key_name": "X-Client"}]}
    redis = redis_url if store == "redis" else None
    with Site(tmp_path, theirs, redis=redis, ratelimit=ratelimit, middleware=False) as site:
        site.manage("migrate", "--verbosity", "0")
        editor, server = site.editor(), site.gunicorn(2, "--threads", "4")
        editor.run(POLICIES)
        # Without the middleware nobody asks for policies before the views that follow do.
        server.wait(2)
        writes = 0
        if goes == "meanwhile":
            served: set[int] = set()
            writes += write_until(server.port, lambda: served == server.pids, served)
        editor.run(RENAME.format("ratelimit_app_policy", "elsewhere"))
        writes += write_until(server.port, lambda: server.output().count("could not be read") > 3)
        assert written(editor) == writes


def write_until(port: int, is_over: Callable[[], bool], served: set[int] | None = None) -> int:
    """Have the site write until then, by any process; each request is served by a policy."""
    deadline = time.monotonic() + 60
    for writes in itertools.count():
        if is_over():
            return writes
        assert time.monotonic() < deadline
        answer = ask(port, "/written/", {"X-Client": str(uuid.uuid4())})
        assert (answer.status, answer.limit) == (200, 10), answer
        if served is not None:
            served.add(answer.pid)
    raise AssertionError
