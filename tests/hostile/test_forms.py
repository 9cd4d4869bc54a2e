"""What anybody in the admin may type or forge: it meets a complaint, never an error."""

from decimal import Decimal
from urllib.parse import quote

import pytest
from django.test import Client
from django.urls import reverse

from ratelimit_app import limiter, sources
from ratelimit_app.models import Policy
from ratelimit_app.policies import Snapshot

from .values import NUMBERS, TEXTS

pytestmark = pytest.mark.django_db

LIST = reverse("admin:ratelimit_app_policy_changelist")
ADD = reverse("admin:ratelimit_app_policy_add")
#: As a browser sends them: half a character is none.
TYPED = [
    *(text for text in TEXTS if text.encode(errors="ignore").decode() == text),
    *(str(number) for number in NUMBERS),
    *("1e3", "1_000", "٣", "0x10", "1,5", "+5", " 5 ", "5.0", "0.0001", "1e-7", "60.0000000001"),
]


def some(name: str) -> list[str]:
    """Every sixth; which, goes by the name, so that all of them come to some field."""
    return TYPED[sum(name.encode()) % 6 :: 6]


FORM = {
    "slug": "new",
    "description": "",
    "mode": "enforce",
    "limit": "5",
    "period": "60",
    "burst": "",
    "algorithm": "gcra",
    "cost": "1",
    "key": "ip",
    "key_name": "",
    "path": "/**",
    "methods": "GET",
    "on_error": "open",
    "seen": "1",
    "initial-limit": "5",
}


@pytest.fixture
def policy() -> Policy:
    # A unit comes back after ten hours, and so in no test.
    made: Policy = Policy.objects.create(slug="login", limit=10, period=Decimal(360_000))
    return made


def assert_sound() -> None:
    """Whatever was saved can be served."""
    assert len(Snapshot(sources.rows(), strict=True).by_slug) == Policy.objects.count()


@pytest.mark.parametrize("field", FORM)
def test_the_page_of_a_policy(admin_client: Client, policy: Policy, field: str) -> None:
    pages = [ADD, reverse("admin:ratelimit_app_policy_change", args=[policy.pk])]
    for at, typed in enumerate(some(field)):
        response = admin_client.post(pages[at % 2], {**FORM, field: typed})
        assert response.status_code in (200, 302)
    assert_sound()


@pytest.mark.parametrize(
    "field",
    [
        *("form-0-limit", "form-0-period", "form-0-mode", "form-0-id", "form-0-seen"),
        *("form-TOTAL_FORMS", "form-INITIAL_FORMS", "initial-form-0-limit"),
    ],
)
def test_the_list(admin_client: Client, policy: Policy, field: str) -> None:
    rows = {"form-TOTAL_FORMS": "1", "form-INITIAL_FORMS": "1", "form-0-id": str(policy.pk)}
    rows |= {"form-0-mode": "off", "form-0-limit": "10", "form-0-period": "60", "_save": "Save"}
    for typed in some(field):
        response = admin_client.post(LIST, {**rows, field: typed})
        assert response.status_code in (200, 302, 400)
    assert_sound()


@pytest.mark.parametrize(
    "field",
    ["q", "o", "p", "all", "mode__exact", "algorithm__exact", "limit__gte", "slug", "_popup"],
)
def test_what_the_list_is_asked(admin_client: Client, policy: Policy, field: str) -> None:
    for typed in some(field):
        response = admin_client.get(LIST, {field: typed[:2_000]})
        assert response.status_code in (200, 302, 400)


@pytest.mark.parametrize("action", ["enforce", "delete_selected", "nonsense"])
def test_actions(admin_client: Client, policy: Policy, action: str) -> None:
    for typed in some(action):
        for data in ({"_selected_action": typed}, {"_selected_action": policy.pk, "index": typed}):
            response = admin_client.post(LIST, {"action": action, **data})
            assert response.status_code in (200, 302, 400)
    assert Policy.objects.get() == policy


@pytest.mark.parametrize("page", ["change", "delete", "history", "reset"])
def test_pages_of_nobody(admin_client: Client, page: str) -> None:
    for typed in some(page):
        at = f"{LIST}{quote(typed[:2_000], safe='')}/{page}/"
        assert admin_client.get(at).status_code in (302, 404)


@pytest.mark.parametrize("key", ["ip", "user", "user_or_ip", "session", "header", "function"])
def test_resets(admin_client: Client, policy: Policy, key: str) -> None:
    name = {"header": "X-Key", "function": "tests.keys.functions.tenant"}.get(key, "")
    Policy.objects.update(key=key, key_name=name)
    limiter.take("login", key="192.0.2.1")
    page = reverse("admin:ratelimit_app_policy_reset", args=[policy.pk])
    for typed in filter(None, some(key)):
        assert admin_client.post(page, {"key": typed}).status_code in (200, 302)
    # Of everybody's buckets none was reset but those that were named.
    assert Policy.objects.get().generation == 0
    assert limiter.peek("login", key="192.0.2.1", cost=0).remaining == 9
