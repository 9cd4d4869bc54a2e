"""Runs `manage.py ratelimit` here, and as a process of its own where signals and exits matter."""

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.core.management import call_command

from ratelimit_app import refresh
from tests.servers import RedisServer

ROOT = Path(__file__).parent.parent.parent
REDIS = "django.core.cache.backends.redis.RedisCache"

# No table, whatever database the other tests use; REDIS_URL and POLICIES come from the environment.
SETTINGS = f"""
import json, os
from tests.settings import *
DATABASES = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}}}
RATELIMIT = {{"POLICIES": json.loads(os.environ.get("POLICIES", "[]"))}}
if url := os.environ.get("REDIS_URL"):
    CACHES = {{"default": {{"BACKEND": "{REDIS}", "LOCATION": url}}}}
"""


class Said(NamedTuple):
    out: str
    err: str


@pytest.fixture
def ratelimit() -> Callable[..., Said]:
    def run(*arguments: str) -> Said:
        refresh.keeper.forget()
        out, err = io.StringIO(), io.StringIO()
        call_command("ratelimit", *arguments, stdout=out, stderr=err)
        return Said(out.getvalue(), err.getvalue())

    return run


@pytest.fixture
def process(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    (tmp_path / "command_settings.py").write_text(SETTINGS)

    def start(*arguments: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "django", "ratelimit", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={
                **os.environ,
                "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}",
                "DJANGO_SETTINGS_MODULE": "command_settings",
                **environment,
            },
        )

    return start


@pytest.fixture
def on_redis(redis_server: RedisServer, settings: Any) -> Any:
    """The site's cache is the tests' Redis, and empty; gives a client to look inside."""
    client = redis_server.client()
    client.flushdb()
    settings.CACHES = {"default": {"BACKEND": REDIS, "LOCATION": redis_server.url}}
    return client


@pytest.fixture
def no_redis(settings: Any) -> None:
    """The site's cache is a Redis that does not run."""
    settings.CACHES = {"default": {"BACKEND": REDIS, "LOCATION": "redis://127.0.0.1:1/0"}}
