"""A site's own function as a key."""

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest
from django.test import override_settings

from ratelimit_app.keys import KEYS

HERE = "tests.keys.functions."


@pytest.mark.parametrize(
    ("name", "value"),
    [("number", "42"), ("identifier", "00000000-0000-0000-0000-00000000002a")],
)
def test_function(request_: Any, name: str, value: str) -> None:
    path = HERE + name
    expected = ("function", path, value)
    assert KEYS["function"].of(request_, path) == KEYS["function"].given(value, path) == expected


def test_a_function_may_say_that_it_does_not_apply(request_: Any) -> None:
    assert KEYS["function"].of(request_, HERE + "tenant") is None
    request_ = HttpRequest()
    request_.META["HTTP_X_TENANT"] = ""
    assert KEYS["function"].of(request_, HERE + "tenant") == ("function", HERE + "tenant", "")


def test_a_function_by_its_name_in_the_settings(request_: Any) -> None:
    request_.META["HTTP_X_TENANT"] = "acme"
    with override_settings(RATELIMIT={"KEYS": {"tenant": HERE + "tenant"}}):
        assert KEYS["function"].of(request_, "tenant") == ("function", "tenant", "acme")


@pytest.mark.parametrize(
    ("name", "says"),
    [("not_callable", "cannot be called"), ("asynchronous", "is async"), ("absent", "absent")],
)
def test_what_is_no_function_is_an_error_and_no_shared_bucket(
    request_: Any, name: str, says: str
) -> None:
    with pytest.raises((ImproperlyConfigured, ImportError), match=says):
        KEYS["function"].of(request_, HERE + name)
