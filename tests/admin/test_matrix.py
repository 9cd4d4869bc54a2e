"""D25: who may do what in the admin, on every page and by every action, with and without the token.

    .  the page is shown                  W  done, and told in the history of each policy, once
    -  refused (403)                      L  sent to log in
    r  sent elsewhere, and nothing done   0  no such page for them (404)
    x  the page is only looked at (405)

Whatever is not W has changed nothing and written no history.
"""

from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.middleware.csrf import CSRF_SECRET_LENGTH
from django.test import Client
from django.urls import reverse

from ratelimit_app import limiter
from ratelimit_app.models import Policy

pytestmark = pytest.mark.django_db

#: Nobody, a user who is no staff, staff without permissions, staff with one of them, a superuser.
MATRIX = """
                 anonymous visitor staff view change add delete reset super
GET  index           L        L      .    .     .     .    .      .     .
GET  app             L        L      0    .     .     .    .      0     .
GET  list            L        L      -    .     .     -    -      -     .
GET  add             L        L      -    -     -     .    -      -     .
GET  change          L        L      -    .     .     -    -      -     .
GET  delete          L        L      -    -     -     -    .      -     .
GET  history         L        L      -    .     .     -    -      -     .
GET  reset           L        L      -    -     -     -    -      .     .
GET  whoami          L        L      .    .     .     .    .      .     .
GET  doctor          L        L      -    .     .     -    -      -     .
POST list            L        L      -    -     W     -    -      -     W
POST enforce         L        L      -    .     W     -    -      -     W
POST shadow          L        L      -    .     W     -    -      -     W
POST switch off      L        L      -    .     W     -    -      -     W
POST delete some?    L        L      -    .     r     -    -      -     .
POST delete some     L        L      -    .     r     -    -      -     W
POST add             L        L      -    -     -     W    -      -     W
POST change          L        L      -    -     W     -    -      -     W
POST delete          L        L      -    -     -     -    W      -     W
POST history         L        L      -    .     .     -    -      -     .
POST reset one       L        L      -    -     -     -    -      W     W
POST reset all       L        L      -    -     -     -    -      W     W
POST whoami          L        L      .    .     .     .    .      .     .
POST doctor          L        L      -    x     x     -    -      -     x
"""
TOKEN = "a" * CSRF_SECRET_LENGTH
CLIENT = "192.0.2.1"
#: A unit comes back after ten hours, and so in no test.
PERIOD = Decimal(360_000)


class Ask(NamedTuple):
    """A page by its name in the URLs, what is posted there, and on which policy."""

    page: str
    data: dict[str, object] | None = None
    slug: str = "login"


def action(name: str, slug: str = "login", **more: object) -> Ask:
    return Ask("policy_changelist", {"action": name, "_selected_action": "{pk}", **more}, slug)


LIST = {
    "form-TOTAL_FORMS": 1,
    "form-INITIAL_FORMS": 1,
    "form-0-id": "{pk}",
    "_save": 1,
    "form-0-mode": "off",
    "form-0-limit": 10,
    "form-0-period": PERIOD,
}
FORM = {
    "slug": "login",
    "mode": "shadow",
    "limit": 1,
    "period": 1,
    "algorithm": "gcra",
    "key": "ip",
    "cost": 1,
    "on_error": "open",
}
ASKED = {
    "GET  index": Ask("index"),
    "GET  app": Ask("app_list"),
    "GET  list": Ask("policy_changelist"),
    "GET  add": Ask("policy_add"),
    "GET  change": Ask("policy_change"),
    "GET  delete": Ask("policy_delete"),
    "GET  history": Ask("policy_history"),
    "GET  reset": Ask("policy_reset"),
    "GET  whoami": Ask("whoami"),
    "GET  doctor": Ask("doctor"),
    "POST list": Ask("policy_changelist", LIST),
    "POST enforce": action("enforce", "in-shadow"),
    "POST shadow": action("shadow"),
    "POST switch off": action("switch_off"),
    "POST delete some?": action("delete_selected"),
    "POST delete some": action("delete_selected", post="yes"),
    "POST add": Ask("policy_add", {**FORM, "slug": "new"}, "new"),
    "POST change": Ask("policy_change", FORM),
    "POST delete": Ask("policy_delete", {"post": "yes"}),
    "POST history": Ask("policy_history", {}),
    "POST reset one": Ask("policy_reset", {"key": CLIENT}),
    "POST reset all": Ask("policy_reset", {"key": ""}),
    "POST whoami": Ask("whoami", {}),
    "POST doctor": Ask("doctor", {}),
}
OF_ONE = ("policy_change", "policy_delete", "policy_history", "policy_reset")
HEAD, *LINES = MATRIX.strip("\n").splitlines()
ROLES = HEAD.split()
#: By what is asked: a letter for each role.
EXPECTED = {line[:17].rstrip(): dict(zip(ROLES, line[17:].split(), strict=True)) for line in LINES}
GETS = [each for each, ask in ASKED.items() if ask.data is None]
POSTS = [each for each, ask in ASKED.items() if ask.data is not None]


@pytest.fixture(autouse=True)
def _policies() -> None:
    for slug, mode in (("login", "enforce"), ("in-shadow", "shadow")):
        Policy.objects.create(slug=slug, mode=mode, limit=10, period=PERIOD)
        limiter.take(slug, key=CLIENT)


def client_of(role: str) -> Client:
    client = Client(enforce_csrf_checks=True, REMOTE_ADDR=CLIENT)
    client.cookies["csrftoken"] = TOKEN
    if role == "anonymous":
        return client
    user = User.objects.create_user(role, is_staff=role != "visitor", is_superuser=role == "super")
    user.user_permissions.set(Permission.objects.filter(codename=f"{role}_policy"))
    client.force_login(user)
    return client


def state() -> dict[str, Any]:
    """Of each policy its row, and what the client has left."""
    rows = {row["slug"]: row for row in Policy.objects.values()}
    return {
        slug: (row, limiter.peek(slug, key=CLIENT, cost=0).remaining) for slug, row in rows.items()
    }


def send(client: Client, ask: Ask, token: str) -> Any:
    pk = str(Policy.objects.get(slug=ask.slug).pk) if ask.slug != "new" else ""
    if ask.page == "app_list":
        at = reverse("admin:app_list", kwargs={"app_label": "ratelimit_app"})
    else:
        prefix = "" if ask.page == "index" else "ratelimit_app_"
        at = reverse(f"admin:{prefix}{ask.page}", args=[pk] if ask.page in OF_ONE else [])
    if ask.data is None:
        return client.get(at)
    data = {name: pk if value == "{pk}" else value for name, value in ask.data.items()}
    return client.post(at, {**data, "csrfmiddlewaretoken": token})


def letter(client: Client, ask: Ask, token: str = TOKEN) -> str:
    before, entries = state(), LogEntry.objects.count()
    response = send(client, ask, token)
    after = state()
    changed = {slug for slug in {*before, *after} if before.get(slug) != after.get(slug)}
    told = LogEntry.objects.all()[: LogEntry.objects.count() - entries]
    assert {entry.object_repr for entry in told} == changed
    if changed:
        assert (changed, len(told), response.status_code) == ({ask.slug}, 1, 302)
        return "W"
    if response.status_code == 302:
        return "L" if response.headers["Location"].startswith("/admin/login/") else "r"
    return {200: ".", 403: "-", 404: "0", 405: "x"}[response.status_code]


@pytest.mark.parametrize("role", ROLES)
def test_who_sees_what_and_that_to_look_changes_nothing(role: str) -> None:
    client = client_of(role)
    found = {asked: letter(client, ASKED[asked]) for asked in GETS}
    assert found == {asked: EXPECTED[asked][role] for asked in GETS}
    assert "W" not in found.values()


@pytest.mark.parametrize("asked", POSTS)
@pytest.mark.parametrize("role", ROLES)
def test_who_may_do_what(role: str, asked: str) -> None:
    assert letter(client_of(role), ASKED[asked]) == EXPECTED[asked][role]


@pytest.mark.parametrize("token", ["", "b" * CSRF_SECRET_LENGTH])
@pytest.mark.parametrize("role", ROLES)
def test_without_the_token_nobody_does_anything(role: str, token: str) -> None:
    client = client_of(role)
    found = {asked: letter(client, ASKED[asked], token) for asked in POSTS}
    assert found == dict.fromkeys(POSTS, "-")


def test_the_table_has_every_page() -> None:
    pages = {each.name for each in admin.site._registry[Policy].urls if each.name}
    assert pages == {f"ratelimit_app_{ask.page}" for ask in ASKED.values()} & pages
    assert list(ASKED) == list(EXPECTED)
