"""What views name is compared with the table, where a database may be asked."""

import pytest
from django.core.checks import run_checks
from django.test import override_settings
from django.urls import path
from rest_framework.views import APIView

from ratelimit_app import charging
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
