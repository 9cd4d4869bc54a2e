"""A bare request; and what the suite of the doors has is of use here too."""

import pytest
from django.http import HttpRequest

from tests.doors.conftest import clock, in_memory, of

__all__ = ["clock", "in_memory", "of"]


@pytest.fixture
def request_() -> HttpRequest:
    request = HttpRequest()
    request.META["REMOTE_ADDR"] = "192.0.2.1"
    return request
