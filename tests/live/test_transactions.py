"""An edit is obeyed after its commit, never before it, and never if it is rolled back."""

import pytest

from .asking import Watch

pytestmark = pytest.mark.alone

POLICY = """
Policy.objects.create(
    slug="edited", limit=10, period=360_000, key="header", key_name="X-Client", path="/slow/**",
)
"""
#: The row is written, and then two seconds pass in the transaction, as in a long request.
EDIT = """
import time
from django.db import transaction
try:
    with transaction.atomic():
        Policy.objects.filter(slug="edited").update(limit=2)
        time.sleep(2)
        {end}
except ZeroDivisionError:
    pass
value = time.monotonic()
"""


@pytest.mark.parametrize("store", ["redis", "memory"])
def test_an_edit_is_obeyed_after_its_commit_and_only_then(make_site, redis_url, store):
    site = make_site(redis=redis_url if store == "redis" else None)
    editor = site.editor()
    editor.run(POLICY)
    servers = site.gunicorn(2), site.uvicorn()
    servers[0].wait(2)
    servers[1].wait(1)
    pids = servers[0].pids | servers[1].pids

    with Watch([server.port for server in servers], "/slow/edited/") as watch:
        editor.run(EDIT.format(end="1 / 0"))
        began, rolled_back = editor.began, editor.value
        editor.run(EDIT.format(end="committing = time.monotonic()"))
        committed = editor.value
        took = watch.obeyed(pids, 2, committed)
        editor.run("value = committing")

    before = {answer.limit for answer in watch.answers if answer.came < editor.value}
    asked = [answer for answer in watch.answers if began < answer.sent < rolled_back]
    print(f"{store}: obeyed {took:.3f} s after the commit")  # noqa: T201
    assert {answer.pid for answer in asked} == pids
    assert before == {10}
    assert watch.fell_back() == []


#: A process that edits and asks in one transaction, and takes it back.
ROLLED_BACK = """
import time
import django
django.setup()
from django.db import transaction
from ratelimit_app import limiter
from ratelimit_app.models import Policy

try:
    with transaction.atomic():
        Policy.objects.filter(slug="edited").update(limit=2)
        limiter.peek("edited", key="inside", cost=0)
        1 / 0
except ZeroDivisionError:
    ended = time.monotonic()
while limiter.peek("edited", key="after", cost=0).limit != 10:
    assert time.monotonic() < ended + 1
    time.sleep(0.01)
"""


@pytest.mark.parametrize("store", ["redis", "memory"])
def test_what_was_read_inside_a_transaction_is_not_kept_after_it(make_site, redis_url, store):
    site = make_site(redis=redis_url if store == "redis" else None)
    site.editor().run(POLICY)

    assert site.python("-c", ROLLED_BACK) == ""
