"""The site that is measured: no database, and the caches that peers and we use.

`BENCH_REDIS` is the URL of the run's own Redis; `BENCH_STORE` (memory, redis or none) is what a
server under load limits by.
"""

import os
from typing import Any

from benchmarks.policies import POLICIES

URL = os.environ.get("BENCH_REDIS", "redis://127.0.0.1:1/0")
STORE = os.environ.get("BENCH_STORE", "none")

SECRET_KEY = "benchmarks-only"
ALLOWED_HOSTS = ["*"]
USE_TZ = True
ROOT_URLCONF = os.environ.get("BENCH_URLS", "benchmarks.urls")
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "ratelimit_app",
]

MIDDLEWARE = [] if STORE == "none" else ["ratelimit_app.middleware.RateLimitMiddleware"]

CACHES: dict[str, dict[str, Any]] = {
    # Room for all keys: what is measured is a decision, not the loss of one.
    "memory": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "OPTIONS": {"MAX_ENTRIES": 1_000_000},
    },
    "redis": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": URL},
}
CACHES["default"] = CACHES["redis" if STORE == "redis" else "memory"]

# While there is no table, the policies of the settings are used.
DATABASES: dict[str, Any] = {}
RATELIMIT = {"POLICIES": POLICIES, "TIMEOUT": 1.0, "DEADLINE": 2.0}

# Nobody's log lines are measured: Django writes one for each refusal of those who leave it to it.
LOGGING = {"version": 1, "disable_existing_loggers": False, "root": {"level": "CRITICAL"}}
LOGGING["loggers"] = {
    name: {"level": "CRITICAL", "propagate": False}
    for name in ("django.request", "ratelimit_app", "django_smart_ratelimit")
}
