"""The site of the live tests: what differs from test to test comes as JSON in LIVE."""

import json
import os
from typing import Any

LIVE = json.loads(os.environ["LIVE"])

SECRET_KEY = "live"
ALLOWED_HOSTS = ["*"]
USE_TZ = True
ROOT_URLCONF = "tests.live.site.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
STATIC_URL = "static/"
STATIC_ROOT = LIVE["folder"] + "/static"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "ratelimit_app",
]

MIDDLEWARE = [
    "tests.live.site.pid.pid_middleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "ratelimit_app.middleware.RateLimitMiddleware",
]

if LIVE.get("lean"):
    # Nothing but what answers and what limits: for as many requests as the machine can take.
    MIDDLEWARE = [MIDDLEWARE[0], MIDDLEWARE[-1]]
    SILENCED_SYSTEM_CHECKS = ["admin.E408", "admin.E409", "admin.E410"]

if not LIVE.get("middleware", True):
    # Then a decorator is the first to ask for policies, in the view's transaction.
    MIDDLEWARE.remove("ratelimit_app.middleware.RateLimitMiddleware")

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASES: dict[str, dict[str, Any]] = LIVE["databases"]
DATABASE_ROUTERS = ["tests.live.site.router.Router"] if "rules" in DATABASES else []

CACHES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
}
if LIVE["redis"]:
    CACHES["default"] = {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": LIVE["redis"]}

RATELIMIT = LIVE["ratelimit"]

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"named": {"format": "%(name)s %(levelname)s %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "named"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
}
