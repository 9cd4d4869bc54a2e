"""The client who must not be found, and who listens for him."""

import base64
import ipaddress
import logging
from typing import Any

from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.test import AsyncClient, Client

from . import site

PAGES = ("/site/page/", "/site/decorated/", "/site/drf/")
ASYNC_PAGES = ("/site/apage/", "/site/adecorated/")


class Everything(logging.Handler):
    """Every record of every logger, with its arguments and its traceback."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.text: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.text += [self.format(record), repr(record.args)]


class Canary:
    """The client, by a browser of either kind, behind a proxy that names his address."""

    def __init__(self) -> None:
        user = User.objects.create(pk=site.USER_PK, username=site.USER, is_active=True)
        self._client, self._async_client = Client(), AsyncClient()
        self._client.force_login(user)
        self.session = self._client.cookies["sessionid"].value
        self._async_client.cookies["sessionid"] = self.session
        self.seen: list[bytes] = []
        self.statuses: list[int] = []

    def walk(self, times: int, address: str = site.ADDRESS) -> None:
        """Open every page so many times, and keep what comes back."""
        headers = {"X-Canary": site.HEADER, "X-Forwarded-For": address}
        for _ in range(times):
            answers: list[Any] = [
                self._client.get(page, headers={**headers, "Accept": accept})
                for page in PAGES
                for accept in ("text/html", "application/json")
            ]
            for page in ASYNC_PAGES:
                get = async_to_sync(self._async_client.get)
                answers.append(get(page, headers=headers))
            for answer in answers:
                self.statuses.append(answer.status_code)
                head = "\n".join(f"{name}: {value}" for name, value in answer.items())
                self.seen += [head.encode(), answer.cookies.output().encode(), answer.content]
                request = getattr(answer, "wsgi_request", None) or answer.asgi_request
                self.seen.append(repr(request.rate_limit).encode())

    @property
    def marks(self) -> list[bytes]:
        """All that must not be found, as it is and as it may be written."""
        named = [
            *[site.ADDRESS, site.ADDRESS_6, site.USER, str(site.USER_PK), site.HEADER],
            *[site.FUNCTION, self.session],
        ]
        plain = [each.encode() for each in named]
        packed = [ipaddress.ip_address(each).packed for each in (site.ADDRESS, site.ADDRESS_6)]
        encoded = [base64.b64encode(each).rstrip(b"=")[:-1] for each in plain]
        blocks = [b"2001:db8:ca7a:11::"]
        return plain + packed + encoded + blocks + [each.hex().encode() for each in plain]

    def assert_not_in(self, where: str, found: bytes) -> None:
        assert found, where
        for mark in self.marks:
            assert mark not in found, f"{mark!r} is in {where}"
