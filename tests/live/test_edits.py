"""Every way to edit, and within a second every process obeys; what was spent stays spent."""

import json
import time

import pytest

from . import databases
from .asking import Watch, ask
from .pages import Browser

pytestmark = pytest.mark.alone

#: Windows are aligned to the epoch: the longer of two that do not end together.
WINDOW = max((20_000_000, 31_000_000), key=lambda period: period - time.time() % period)
POLICY = f"""
Policy.objects.create(
    slug="edited", algorithm="fixed_window", limit=10, period={WINDOW},
    key="header", key_name="X-Client", path="/slow/**",
)
"""

#: Code of the other process, with the limit that it leaves behind.
BY_CODE = [
    ("save", "p = Policy.objects.get(slug='edited'); p.limit = 50; p.save()", 50),
    ("save of one field", "p.limit = 7; p.save(update_fields=['limit'])", 7),
    ("update", "Policy.objects.filter(slug='edited').update(limit=60)", 60),
    ("bulk_update", "p.limit = 8; Policy.objects.bulk_update([p], ['limit'])", 8),
    ("delete", "p.delete()", None),
    ("bulk_create", "p.pk = None; p.limit = 70; Policy.objects.bulk_create([p])", 70),
    ("delete of a queryset", "Policy.objects.filter(slug='edited').delete()", None),
    (
        "update_or_create",
        "Policy.objects.update_or_create(slug='edited', defaults=dict(limit=9, period=60, "
        "algorithm='fixed_window', key='header', key_name='X-Client', path='/slow/**'))",
        9,
    ),
    (
        "upsert",
        "p = Policy.objects.get(slug='edited'); p.pk, p.limit = None, 80\n"
        "Policy.objects.bulk_create([p], update_conflicts=True, unique_fields=['slug'], "
        "update_fields=['limit'])",
        80,
    ),
    (
        "loaddata",
        "from django.core.management import call_command; import pathlib, json\n"
        "call_command('dumpdata', 'ratelimit_app', output=folder + '/rows.json')\n"
        "rows = json.loads(pathlib.Path(folder + '/rows.json').read_text())\n"
        "rows[0]['fields']['limit'] = 11\n"
        "pathlib.Path(folder + '/rows.json').write_text(json.dumps(rows))\n"
        "call_command('loaddata', folder + '/rows.json', verbosity=0)",
        11,
    ),
    (
        "in an event loop",
        "import asyncio; asyncio.run(Policy.objects.filter(slug='edited').aupdate(limit=90))",
        90,
    ),
]
#: The fastest to the slowest of the ways, for the reader of `pytest -s`.
REPORT = "{store}: {way}: obeyed by all of {processes} processes after {seconds:.3f} s"


@pytest.fixture(params=["redis", "memory"])
def store(request):
    return request.param


@pytest.fixture
def serving(make_site, redis_url, store):
    """Two workers and a process of another kind that serve, and one that edits."""

    def serve(**options):
        site = make_site(redis=redis_url if store == "redis" else None, **options)
        editor = site.editor()
        editor.run(POLICY + f"\nfolder = {json.dumps(str(site.folder))}")
        servers = site.gunicorn(2), site.uvicorn()
        for server, workers in zip(servers, (2, 1), strict=True):
            server.wait(workers)
        return site, editor, servers

    return serve


def test_every_way_through_django_is_obeyed_within_a_second(serving, store):
    site, editor, servers = serving()
    pids = servers[0].pids | servers[1].pids
    browser = Browser(servers[0].port, editor)
    editor.run("value = Policy.objects.get(slug='edited').pk")
    page, rows = (
        f"/admin/ratelimit_app/policy/{editor.value}/change/",
        "/admin/ratelimit_app/policy/",
    )
    by_page = [
        ("admin form", page, {"limit": "20"}, 20),
        ("admin list", rows, {"form-0-limit": "5", "_save": "Save"}, 5),
        (
            "admin action",
            rows,
            {"action": "shadow", "_selected_action": str(editor.value), "index": "0"},
            None,
        ),
        ("admin form, again", page, {"mode": "enforce", "limit": "30"}, 30),
    ]
    shell = "import time; from ratelimit_app.models import Policy; "
    shell += "Policy.objects.filter(slug='edited').update(limit=12); print(time.monotonic())"
    took = {}

    with Watch([server.port for server in servers], "/slow/edited/") as watch:
        for way, path, changes, limit in by_page:
            took[way] = watch.obeyed(pids, limit, browser.submit(path, changes))
        for way, code, limit in BY_CODE:
            took[way] = watch.obeyed(pids, limit, editor.run(code))
        since = float(site.manage("shell", "-v", "0", "-c", shell).split()[0])
        took["manage.py shell"] = watch.obeyed(pids, 12, since)

    for way, seconds in took.items():
        print(REPORT.format(store=store, way=way, processes=len(pids), seconds=seconds))  # noqa: T201
    assert watch.fell_back() == []


def test_sql_by_hand_is_obeyed_within_reload(serving, store):
    _, editor, servers = serving(ratelimit={"RELOAD": 2})
    pids = servers[0].pids | servers[1].pids
    by_hand = "from django.db import connection\n"
    by_hand += "connection.cursor().execute('UPDATE ratelimit_app_policy SET \"limit\" = 33')"

    with Watch([server.port for server in servers], "/slow/edited/") as watch:
        took = watch.obeyed(pids, 33, editor.run(by_hand), within=2 + 1)

    print(REPORT.format(store=store, way="SQL", processes=len(pids), seconds=took))  # noqa: T201
    assert watch.fell_back() == []


def test_policies_in_another_database_are_obeyed_as_well(serving, store, tmp_path, migrated):
    _, editor, servers = serving(rules=databases.copy(migrated, tmp_path))
    pids = servers[0].pids | servers[1].pids
    inside = "from django.db import transaction\nwith transaction.atomic(using='rules'):\n    "

    with Watch([server.port for server in servers], "/slow/edited/") as watch:
        code = "Policy.objects.filter(slug='edited').update(limit={})"
        watch.obeyed(pids, 21, editor.run(code.format(21)))
        watch.obeyed(pids, 22, editor.run(inside + code.format(22)))

    assert watch.fell_back() == []


def test_what_was_spent_stays_spent(serving, store):
    _, editor, servers = serving()
    # Where processes share no memory, one of them.
    port = servers[1].port
    pids = servers[1].pids
    spender = {"X-Client": "spender"}
    left = [ask(port, "/slow/edited/", spender).remaining for _ in range(4)]

    with Watch([port], "/slow/edited/") as watch:
        change = "Policy.objects.update(limit={})"
        watch.obeyed(pids, 20, editor.run(change.format(20)))
        left.append(ask(port, "/slow/edited/", spender).remaining)
        watch.obeyed(pids, 6, editor.run(change.format(6)))
        left.append(ask(port, "/slow/edited/", spender).remaining)
        watch.obeyed(pids, 3, editor.run(change.format(3)))
        refused = ask(port, "/slow/edited/", spender)

    assert left == [9, 8, 7, 6, 15, 0]
    assert (refused.status, refused.remaining) == (429, 0)
