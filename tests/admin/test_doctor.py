"""The doctor's page: for those who may see policies, and for nobody else."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

PAGE = reverse("admin:ratelimit_app_doctor")

pytestmark = pytest.mark.django_db


def browser(*permissions: str, is_staff: bool = True) -> Client:
    user = User.objects.create_user("somebody", is_staff=is_staff)
    names = [f"{each}_policy" for each in permissions]
    user.user_permissions.set(Permission.objects.filter(codename__in=names))
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.parametrize(
    ("permissions", "status"),
    [(["view"], 200), (["change"], 200), (["add"], 403), (["reset"], 403), ([], 403)],
)
def test_who_may_see_it(permissions, status):
    assert browser(*permissions).get(PAGE).status_code == status


def test_visitors_are_sent_to_the_login():
    assert browser("view", is_staff=False).get(PAGE).status_code == 302
    assert Client().get(PAGE).status_code == 302


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_it_only_answers(method):
    answer = getattr(browser("view"), method)(PAGE)
    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD")


def test_what_it_shows(settings):
    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": "redis://user:geheim@127.0.0.1:1/0",
        }
    }
    settings.RATELIMIT = {"SECRET": "verborgen"}
    answer = browser("view").get(PAGE, REMOTE_ADDR="192.0.2.7")
    page = answer.content.decode()
    levels = {finding.subject: finding.level for finding in answer.context["findings"]}
    assert (levels["Redis"], levels["client address"], levels["W007"]) == ("error", "ok", "warning")
    assert '<th scope="row">Redis</th><td>error</td><td>127.0.0.1:1/0: ConnectionError: ' in page
    assert "geheim" not in page
    assert "verborgen" not in page
    assert answer["Cache-Control"].startswith("max-age=0, no-cache, no-store")


def test_it_is_linked_from_the_list():
    page = browser("view").get(reverse("admin:ratelimit_app_policy_changelist"))
    assert f'<a href="{PAGE}">Doctor</a>' in page.content.decode()
