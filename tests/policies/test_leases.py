"""Which lease a policy may have, and which it has where it says nothing."""

from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.http import HttpResponse
from django.test import RequestFactory

from ratelimit_app import stores
from ratelimit_app.algorithms import ALGORITHMS
from ratelimit_app.conf import SettingError, conf
from ratelimit_app.declared import unsaved_policy
from ratelimit_app.decorators import rate_limit
from ratelimit_app.models import Policy
from ratelimit_app.policies import Snapshot, compiled
from ratelimit_app.sources import DEFAULTS
from ratelimit_app.stores.memory import MemoryStore
from ratelimit_app.testing import override_policies

LOG = (
    "lease 10 makes no sense for sliding_window_log, which is chosen to be exact: use 1, or choose "
    "another algorithm."
)
FIELDS = {"slug": "hot", "limit": 10_000, "period": Decimal(60)}


def lease(**fields: object) -> int:
    return compiled({**DEFAULTS, **FIELDS, **fields}).quota.lease


@pytest.mark.parametrize("algorithm", list(ALGORITHMS))
@pytest.mark.parametrize("given", [None, 1])
def test_every_algorithm_may_have_none(algorithm, given):
    assert lease(algorithm=algorithm, lease=given) == 1
    unsaved_policy({**FIELDS, "algorithm": algorithm, "lease": given})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"lease": 10, "algorithm": "sliding_window_log"}, LOG),
        (
            {"lease": 0},
            "lease 0 is below 1: use 1 to ask for each request, or leave it empty.",
        ),
        ({"lease": 1.5}, "lease 1.5 must be a whole number."),
    ],
)
def test_refused_with_the_fix(fields, message):
    with pytest.raises(ValidationError) as error:
        unsaved_policy({**FIELDS, **fields})
    assert error.value.message_dict == {"lease": [message]}
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        compiled({**DEFAULTS, **FIELDS, **fields})


@pytest.mark.django_db
@pytest.mark.parametrize("fields", [{"lease": 0}, {"lease": 10, "algorithm": "sliding_window_log"}])
def test_refused_by_the_database(fields):
    with pytest.raises(IntegrityError):
        Policy.objects.bulk_create([Policy(**{**FIELDS, **fields})])


def test_no_more_than_fits_at_once():
    """So that a limit can be lowered in a hurry, whatever the lease."""
    assert lease(lease=500) == 500
    assert lease(lease=500, limit=100) == 100
    assert lease(lease=500, burst=20) == 20
    assert lease(lease=500, limit=0) == 1


def test_a_shadow_has_none():
    assert lease(lease=500, mode="shadow") == 1


@pytest.mark.parametrize(
    ("percent", "limit", "expected"),
    [(0, 10_000, 1), (1, 10_000, 100), (1, 50, 1), (0.5, 1000, 5), (100, 10, 10), (5, 10**6, 1000)],
)
def test_left_empty_it_follows_from_the_error_that_is_allowed(settings, percent, limit, expected):
    settings.RATELIMIT = {"LEASE_ERROR": percent}
    assert lease(limit=limit) == expected
    assert lease(limit=limit, algorithm="sliding_window_log") == 1
    assert lease(limit=limit, lease=1) == 1


@pytest.mark.parametrize("percent", [-1, 101, "1", True, None])
def test_an_error_that_cannot_be(settings, percent):
    settings.RATELIMIT = {"LEASE_ERROR": percent}
    with pytest.raises(SettingError, match="it must be a number of percent from 0 to 100"):
        conf()


def test_in_code():
    @rate_limit("1000/m", lease=10, ask_always=True)
    def view(request):
        return HttpResponse()

    request = RequestFactory().get("/")
    with stores.pinned(MemoryStore()), override_policies({}):
        view(request)
    (entry,) = request.rate_limit.entries  # type: ignore[attr-defined]
    assert (entry.policy.quota.lease, entry.policy.quota.ask_always) == (10, True)
    with pytest.raises(ValueError, match="is a policy of the table"):
        rate_limit("login", lease=10)
    with pytest.raises(ValueError, match="makes no sense for sliding_window_log"):
        rate_limit("5/m", lease=10, algorithm="sliding_window_log")


def test_a_setting_that_cannot_be_used_stops_no_view_and_no_policy(settings):
    """The checks say so, which import the views; a server does not start with it."""
    settings.RATELIMIT = {"HEADERS": "neither"}
    assert callable(rate_limit("5/m"))
    assert Snapshot([{**DEFAULTS, "slug": "p", "limit": 1, "period": 1}]).left_out == {}
