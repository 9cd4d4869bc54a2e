"""C13: a site's own tests, run again and again on one Redis, each count from zero."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

from tests.servers import RedisServer

ROOT = Path(__file__).parent.parent.parent
SETTINGS = """
from tests.settings import *
MIDDLEWARE = [*MIDDLEWARE, "ratelimit_app.middleware.RateLimitMiddleware"]
REDIS = "django.core.cache.backends.redis.RedisCache"
CACHES = {{"default": {{"BACKEND": REDIS, "LOCATION": "{url}", "KEY_PREFIX": "suites"}}}}
RATELIMIT = {{"TIMEOUT": 10, "DEADLINE": 25}}
"""
SUITE = """
from django.core.cache import cache
from django.test import TestCase, override_settings
from ratelimit_app.models import Policy
from ratelimit_app.testing import moving_clock, override_policies, reset

class Uses(TestCase):
    def setUp(self):
        Policy.objects.create(slug="p", limit=2, period=360_000, path="/sync/")

    def statuses(self, count=3):
        return [self.client.get("/sync/").status_code for _ in range(count)]

    def test_uses_it_up(self):
        self.assertEqual(self.statuses(), [200, 200, 429])

    def test_lowers_it(self):
        Policy.objects.update(limit=1)
        self.assertEqual(self.statuses(), [200, 429, 429])

    @override_settings(RATELIMIT={"ENABLED": False})
    def test_has_none(self):
        self.assertEqual(self.statuses(), [200, 200, 200])

    def test_with_policies_of_its_own(self):
        for _ in range(2):
            with override_policies(other={"limit": 1, "period": 60, "path": "/sync/"}):
                self.assertEqual(self.statuses(2), [200, 429])
                reset()
                self.assertEqual(self.statuses(2), [200, 429])

    def test_moves_a_clock(self):
        with moving_clock() as clock:
            self.assertEqual(self.statuses(), [200, 200, 429])
            clock.move(360_000)
            self.assertEqual(self.statuses(), [200, 200, 429])

    def test_leaves_the_cache_alone(self):
        reset()
        self.assertEqual(cache.get("session-of-somebody"), "kept")

class UsesTheSame(Uses):
    pass
"""


def test_tests_of_a_site_leak_no_counts(redis_server: RedisServer, tmp_path: Path):
    (tmp_path / "suite_settings.py").write_text(SETTINGS.format(url=redis_server.url))
    (tmp_path / "test_suite.py").write_text(SUITE)
    client = redis_server.client()
    client.set("suites:1:session-of-somebody", pickle.dumps("kept"))
    env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    command = [sys.executable, "-m", "django", "test", "test_suite"]
    for options in ([], ["--reverse"], ["--parallel", "2"]):
        done = subprocess.run(
            [*command, "--settings", "suite_settings", *options],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "Ran 12 tests" in done.stderr
    # Buckets end by themselves, and none is left for ever.
    assert {client.ttl(key) > 0 for key in client.scan_iter(match="suites:*rl1:{*")} <= {True}
