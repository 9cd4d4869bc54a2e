"""Who a request is said to come from, under a list of trusted proxies."""

from functools import cache
from typing import Any
from unittest.mock import patch

from django.http import HttpRequest
from django.test import override_settings

from ratelimit_app import addresses
from ratelimit_app.conf import Conf, conf


def request_from(remote: str | None, xff: str | None = None, **headers: str) -> HttpRequest:
    request = HttpRequest()
    if remote is not None:
        request.META["REMOTE_ADDR"] = remote
    if xff is not None:
        request.META["HTTP_X_FORWARDED_FOR"] = xff
    for name, value in headers.items():
        request.META["HTTP_" + name.upper().replace("-", "_")] = value
    return request


@cache
def settings_of(trusted: tuple[str, ...]) -> Conf:
    with override_settings(RATELIMIT={"TRUSTED_PROXIES": trusted}):
        return conf()


def client(remote: str | None, xff: str | None = None, trusted: Any = (), **headers: str) -> str:
    now = settings_of(tuple(trusted))
    with patch.object(addresses, "conf", lambda: now):
        return addresses.client_address(request_from(remote, xff, **headers))
