"""What views name is compared with the table, where a database may be asked."""

import pytest
from django.core.checks import run_checks
from django.test import override_settings
from django.urls import path
from rest_framework.views import APIView

from ratelimit_app import charging
from ratelimit_app.checks import MIDDLEWARE
from ratelimit_app.decorators import rate_limit
from ratelimit_app.drf import PolicyThrottle
from ratelimit_app.models import Policy
from ratelimit_app.table_checks import check_named

pytestmark = pytest.mark.django_db


class Uploads(APIView):
    throttle_classes = [PolicyThrottle]
    throttle_policies = ["uploads"]


urlpatterns = [path("uploads/", Uploads.as_view())]


@pytest.fixture(autouse=True)
def _nothing_named(monkeypatch):
    monkeypatch.setattr(charging, "named", {})


def found() -> list[tuple[str, str]]:
    return [(str(check.id), check.msg) for check in check_named(databases=["default"])]


def policy(slug: str, **fields: object) -> None:
    Policy.objects.create(slug=slug, limit=5, period=60, **fields)


def test_a_slug_that_a_decorator_names_must_exist():
    rate_limit("login")
    assert [id for id, _ in found()] == ["ratelimit_app.E007"]
    policy("login")
    assert found() == []


def test_a_slug_that_a_rest_view_names_must_exist():
    with override_settings(ROOT_URLCONF=__name__):
        ((id, message),) = found()
    assert id == "ratelimit_app.E007"
    assert message.startswith("tests.test_table_checks.Uploads names the policy 'uploads'")


def test_different_costs_of_one_policy_are_told():
    policy("search")
    rate_limit("search", cost=5)
    assert found() == []
    rate_limit("search")
    assert [id for id, _ in found()] == ["ratelimit_app.W004"]


def test_a_cost_unlike_that_of_the_path_is_told():
    policy("search", path="/search/")
    rate_limit("search", cost=5)
    assert [id for id, _ in found()] == ["ratelimit_app.W004"]


def test_counting_by_a_header_is_told():
    policy("api", key="header", key_name="X-API-Key")
    assert [id for id, _ in found()] == ["ratelimit_app.W005"]


@pytest.mark.parametrize(
    "header", ["X-Forwarded-For", "x-real-ip", "CF-Connecting-IP", "Forwarded"]
)
def test_a_header_that_names_an_address_is_told_to_use_the_address(header):
    policy("all", key="header", key_name=header)
    (told,) = check_named(databases=["default"])
    assert (told.id, told.hint) == (
        "ratelimit_app.W005",
        "Count by ip, and name your proxies in RATELIMIT['TRUSTED_PROXIES'].",
    )


def test_counting_by_session_is_told_unless_it_is_off():
    policy("cart", key="session")
    assert [id for id, _ in found()] == ["ratelimit_app.W013"]
    Policy.objects.update(mode="off")
    assert found() == []


SESSIONS = "django.contrib.sessions.middleware.SessionMiddleware"
USERS = "django.contrib.auth.middleware.AuthenticationMiddleware"


@pytest.mark.parametrize(
    ("order", "told"),
    [
        ([SESSIONS, USERS, MIDDLEWARE], {}),
        ([SESSIONS, USERS], {}),
        ([SESSIONS, MIDDLEWARE, USERS], {"user": USERS, "user_or_ip": USERS}),
        (
            [MIDDLEWARE, SESSIONS, USERS],
            {"session": SESSIONS, "user": USERS, "user_or_ip": USERS},
        ),
    ],
)
def test_who_is_counted_must_be_known_before_the_limiter_asks(settings, order, told):
    settings.MIDDLEWARE = order
    for kind in ("ip", "user", "user_or_ip", "session"):
        policy(kind, key=kind, path="/**")
    policy("named", key="user")
    expected = {f"The policy {kind!r} counts by {kind}": needed for kind, needed in told.items()}
    assert {
        message.partition(", and")[0]: message.partition(" before ")[2].partition(",")[0]
        for id, message in found()
        if id == "ratelimit_app.W014"
    } == expected


def test_no_query_without_leave_to_ask_the_database(django_assert_num_queries):
    rate_limit("login")
    with django_assert_num_queries(0):
        assert check_named() == []


def test_it_is_bound():
    rate_limit("login")
    deployed = run_checks(databases=["default"], include_deployment_checks=True)
    assert "ratelimit_app.E007" in [check.id for check in deployed]


def test_it_stops_neither_migrate_nor_a_test_run():
    rate_limit("login")
    assert "ratelimit_app.E007" not in [each.id for each in run_checks(databases=["default"])]
