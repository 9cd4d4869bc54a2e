"""The snapshot and the thread that keeps it fresh, where the live tests do not reach."""

import asyncio
import gc

import pytest
from django.test import RequestFactory

from ratelimit_app import responses, stores, watch
from ratelimit_app.models import Policy
from ratelimit_app.policies import Snapshot
from ratelimit_app.refresh import Keeper
from ratelimit_app.stores import Unavailable
from ratelimit_app.stores.memory import MemoryStore
from ratelimit_app.verdict import Verdict


class Down(MemoryStore):
    def version(self):
        raise Unavailable("no answer")


def limit(keeper: Keeper) -> int:
    assert keeper.snapshot is not None
    return keeper.snapshot.by_slug["p"].quota.limit.limit


@pytest.mark.django_db
def test_an_edit_is_seen_while_redis_is_down(django_assert_num_queries):
    policy = Policy.objects.create(slug="p", limit=5, period=60)
    keeper = Keeper()
    with stores.pinned(Down()):
        keeper.look()
        assert limit(keeper) == 5
        keeper.stale = False
        # The fingerprint, inside a savepoint of the test's transaction.
        with django_assert_num_queries(3):
            keeper.look()
        Policy.objects.filter(pk=policy.pk).update(limit=2)
        keeper.look()
        assert limit(keeper) == 2


class Broken:
    snapshot: Snapshot | None = None
    stale = False
    loaded = 0.0

    def look(self):
        raise RuntimeError("nobody thought of this")


def test_a_thread_whose_look_fails_waits_before_the_next(monkeypatch):
    class Enough(BaseException):
        pass

    pauses = []

    def wait(pause):
        pauses.append(pause)
        if len(pauses) == 4:
            raise Enough

    thread = watch.Watch(Broken())
    monkeypatch.setattr(thread._woken, "wait", wait)
    with pytest.raises(Enough):
        thread.run()
    assert pauses == [0.0, 0.5, 0.5, 0.5]


def test_settings_that_cannot_be_used_do_not_make_it_spin(settings, monkeypatch):
    settings.RATELIMIT = {"REFRESH": "often"}
    test_a_thread_whose_look_fails_waits_before_the_next(monkeypatch)


@pytest.mark.parametrize("accept", ["a/b; x*=bogus''%41", ";;;", "text/html;q=x", "é"])
def test_no_accept_header_makes_a_refusal_fail(accept):
    request = RequestFactory().get("/", headers={"accept": accept})
    assert responses.refuse(request, Verdict(429, ())).status_code == 429


def test_an_event_loop_that_ended_is_let_go(redis_server, settings):
    from django.core.cache.backends.redis import RedisCache

    from ratelimit_app.stores.redis import RedisStore

    store = RedisStore(RedisCache(redis_server.url, {}), timeout=1)

    async def ask():
        await store.clients.here().call("PING")

    for _ in range(20):
        asyncio.run(ask())
    gc.collect()
    assert len(store.clients.node._loops) == 1
