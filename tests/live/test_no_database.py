"""No tables yet, or no more: requests are answered, and what comes (back) is obeyed."""

import contextlib
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.servers import free_port

from . import databases
from .asking import Watch, ask
from .processes import ROOT, Site

pytestmark = pytest.mark.alone

POLICY = """
Policy.objects.create(
    slug="edited", limit=10, period=360_000, key="header", key_name="X-Client", path="/slow/**",
)
"""
FROM_SETTINGS = {"slug": "settings", "limit": 3, "period": 360_000, "path": "/slow/**"}

#: Every query is an error, and so is Django's warning of one while apps start.
NO_QUERY = """
import warnings
warnings.simplefilter("error", RuntimeWarning)
from django.db.backends.base.base import BaseDatabaseWrapper

def refused(self):
    raise AssertionError("a query")

BaseDatabaseWrapper.ensure_connection = refused
import tests.live.site.wsgi, tests.live.site.urls
"""


@pytest.fixture
def fresh_site(tmp_path):
    """A site on an empty database."""
    sites = []

    def make(**options):
        site = Site(tmp_path, databases.empty(tmp_path), **options)
        sites.append(site)
        return site

    yield make
    for site in sites:
        site.close()


def test_commands_run_on_an_empty_database(fresh_site):
    site = fresh_site()
    site.python("-c", NO_QUERY)
    for command in (
        ["check"],
        ["showmigrations"],
        ["makemigrations", "--check", "--dry-run"],
        ["collectstatic", "--no-input", "--verbosity", "0"],
        ["migrate", "--verbosity", "0"],
        ["test", "tests.live.site"],
    ):
        said = site.manage(*command)
        assert "ratelimit_app WARNING" not in said
        assert "Traceback" not in said


def test_runserver_serves_from_an_empty_database(fresh_site, tmp_path):
    site, port = fresh_site(ratelimit={"POLICIES": [FROM_SETTINGS]}), free_port()
    command = [sys.executable, "-m", "django", "runserver", "--noreload", str(port)]
    with (tmp_path / "runserver").open("wb") as log:
        server = subprocess.Popen(command, cwd=ROOT, env=site.env, stdout=log, stderr=log)
    try:
        while True:
            assert server.poll() is None, (tmp_path / "runserver").read_text()
            with contextlib.suppress(ConnectionRefusedError):
                answer = ask(port, "/slow/edited/")
                break
    finally:
        server.terminate()
        server.wait()
    assert (answer.status, answer.limit, answer.remaining) == (200, 3, 2)


@pytest.mark.parametrize(
    ("store", "policies"),
    [("redis", []), ("memory", [FROM_SETTINGS])],
    ids=["redis, unlimited", "memory, from settings"],
)
def test_a_server_that_started_before_migrate_finds_the_table(
    fresh_site, redis_url, store, policies
):
    url = redis_url if store == "redis" else None
    site = fresh_site(redis=url, ratelimit={"POLICIES": policies})
    server = site.gunicorn(1)
    server.wait(1, path="/ready/")

    answer = ask(server.port, "/slow/edited/")

    assert (answer.status, answer.limit) == (200, 3 if policies else None)
    lines = [line for line in server.output().splitlines() if "ratelimit_app" in line]
    assert len(lines) == 1, lines
    assert "no such table" in lines[0] or "does not exist" in lines[0]

    site.manage("migrate", "--verbosity", "0")
    since = site.editor().run(POLICY)
    with Watch([server.port], "/slow/edited/") as watch:
        # On Redis the edit is told. Else the pauses between two tries have doubled meanwhile.
        took = watch.obeyed(server.pids, 10, since, within=1 if store == "redis" else 5)
    print(f"{store}: the table is found after {took:.3f} s")  # noqa: T201
    assert watch.fell_back() == []


#: A view in a transaction (ATOMIC_REQUESTS) whose decorator is the first to ask for the policies.
IN_A_TRANSACTION = """
import logging, django
django.setup()
logging.disable()
from django.db import connection, transaction
from ratelimit_app import limiter

with transaction.atomic():
    connection.cursor().execute("CREATE TABLE theirs (id integer)")
    try:
        limiter.take("edited", key="somebody")
    except limiter.UnknownPolicy:
        pass
    connection.cursor().execute("INSERT INTO theirs VALUES (1)")
with connection.cursor() as cursor:
    cursor.execute("SELECT count(*) FROM theirs")
    print(cursor.fetchone()[0])
"""


@pytest.mark.parametrize("store", ["redis", "memory"])
def test_no_table_does_not_break_the_transaction_of_the_site(fresh_site, redis_url, store):
    site = fresh_site(redis=redis_url if store == "redis" else None)

    assert site.python("-c", IN_A_TRANSACTION).split() == ["1"]


def loss(site):
    """How to lose the table and how to bring it back; of a SQLite file also the whole file."""
    rename = "from django.db import connection\n"
    rename += "connection.cursor().execute('ALTER TABLE {} RENAME TO {}')"
    table = "ratelimit_app_policy"
    yield rename.format(table, "elsewhere"), rename.format("elsewhere", table)
    name = site.databases["default"]["NAME"]
    if Path(name).exists():
        move = "import os\nos.replace({!r}, {!r})"
        yield move.format(name, name + ".away"), move.format(name + ".away", name)


@pytest.mark.parametrize("store", ["redis", "memory"])
def test_the_last_policies_go_on_while_there_is_no_database(make_site, redis_url, store):
    # Looked for often, so that the loss is noticed in the time of a test.
    site = make_site(redis=redis_url if store == "redis" else None, ratelimit={"RELOAD": 0.5})
    editor = site.editor()
    editor.run(POLICY)
    servers = site.gunicorn(2), site.uvicorn()
    servers[0].wait(2)
    servers[1].wait(1)
    pids = servers[0].pids | servers[1].pids
    limit = 10

    with Watch([server.port for server in servers], "/slow/edited/") as watch:
        for lose, restore in loss(site):
            begun = len(watch.answers)
            said = len("".join(server.output() for server in servers))
            editor.run(lose)
            deadline = time.monotonic() + 5
            while "".join(server.output() for server in servers)[said:].count("are kept") < len(
                pids
            ):
                assert time.monotonic() < deadline, "nobody noticed"
                time.sleep(0.02)
            editor.run(restore)
            assert {answer.limit for answer in watch.answers[begun:]} == {limit}
            limit += 1
            since = editor.run(f"Policy.objects.filter(slug='edited').update(limit={limit})")
            watch.obeyed(pids, limit, since, within=1 if store == "redis" else 5)

    assert {answer.status for answer in watch.answers} == {200}
    assert watch.fell_back() == []
