"""A site of programs alone: no users, no sessions, no admin."""

import subprocess
import sys

from .processes import ROOT

SITE = """
import sys

import django
from django.conf import settings

settings.configure(
    SECRET_KEY="none",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF="__main__",
    INSTALLED_APPS=["ratelimit_app"],
    MIDDLEWARE=["ratelimit_app.middleware.RateLimitMiddleware"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": sys.argv[1]}},
)
django.setup()

from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.test import Client
from django.urls import path

urlpatterns = [path("x/", lambda request: HttpResponse("ran"))]
call_command("check")
call_command("migrate", verbosity=0)

from ratelimit_app.models import Policy

for key in ("ip", "user_or_ip", "user", "session"):
    slug = key.replace("_", "-")
    Policy.objects.create(slug=slug, limit=2, period=60, key=key, path="/x/")
assert [Client().get("/x/").status_code for _ in range(3)] == [200, 200, 429]
call_command("ratelimit", "check", "GET", "/x/", "--ip", "192.0.2.7")
try:
    call_command("ratelimit", "check", "GET", "/x/", "--user", "1")
except CommandError as error:
    print(error)
"""


def test_it_limits_by_address_and_knows_nobody(tmp_path):
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error::DeprecationWarning",
            "-c",
            SITE,
            str(tmp_path / "db.sqlite3"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "user-or-ip" in done.stdout
    assert "--user '1': AUTH_USER_MODEL refers to model 'auth.User' that has" in done.stdout
