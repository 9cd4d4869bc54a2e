"""Each kind of key: who a request is, and that a value given by hand is the same one."""

import asyncio
import uuid
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest

from ratelimit_app import keys
from ratelimit_app.choices import key_choices
from ratelimit_app.keys import KEYS

HERE = "tests.keys.functions."


class User:
    is_authenticated = True

    def __init__(self, pk: object) -> None:
        self.pk = pk


class Session(dict[str, Any]):
    def __init__(self, key: str | None, **values: Any) -> None:
        super().__init__(values)
        self.session_key = key


IP = ("ip", "192.0.2.1")


def test_every_choice_has_its_key() -> None:
    assert list(KEYS) == [name for name, _ in key_choices()]


def of(kind: str, request: HttpRequest, name: str = "") -> Any:
    return KEYS[kind].of(request, name)


def test_ip(request_: Any) -> None:
    assert of("ip", request_) == IP == KEYS["ip"].given("::ffff:192.0.2.1", "")


@pytest.mark.parametrize("pk", [7, "7", uuid.UUID(int=7), 0], ids=repr)
def test_user(request_: Any, pk: object) -> None:
    request_.user = User(pk)
    expected = ("user", str(pk))
    assert of("user", request_) == of("user_or_ip", request_) == expected
    assert KEYS["user"].given(str(pk), "") == KEYS["user_or_ip"].given(str(pk), "") == expected


@pytest.mark.parametrize("user", [AnonymousUser(), None])
def test_nobody(request_: Any, user: Any) -> None:
    request_.user = user
    assert of("user", request_) is None
    assert of("user_or_ip", request_) == IP
    assert KEYS["user_or_ip"].given("192.0.2.1", "") == IP


def test_a_site_without_users(request_: Any) -> None:
    assert of("user", request_) is None
    assert of("user_or_ip", request_) == IP


def test_a_user_and_an_address_of_one_text_are_two(request_: Any) -> None:
    request_.user = User("192.0.2.1")
    assert of("user_or_ip", request_) == ("user", "192.0.2.1") != IP


def test_the_user_that_was_loaded_stands_for_the_lazy_one(request_: Any) -> None:
    async def auser() -> User:
        return User(1)

    class Lazy:
        @property
        def is_authenticated(self) -> bool:
            raise AssertionError("asked on the event loop")

    request_.user, request_.auser = Lazy(), auser
    asyncio.run(keys.aload_user(request_))
    assert of("user", request_) == ("user", "1")
    request_.user = User(2)
    assert of("user", request_) == ("user", "2")
    request_.user = AnonymousUser()
    assert of("user", request_) is None


def test_a_user_of_the_async_kind_alone(request_: Any) -> None:
    async def auser() -> User:
        return User(1)

    request_.auser = auser
    asyncio.run(keys.aload_user(request_))
    assert of("user", request_) == ("user", "1")


def test_a_falsy_user_is_one(request_: Any) -> None:
    class Empty(User):
        def __len__(self) -> int:
            return 0

    request_.user = Empty(1)
    assert of("user", request_) == ("user", "1")


def test_session(request_: Any) -> None:
    request_.session = Session("abc", cart=1)
    assert of("session", request_) == ("session", "abc") == KEYS["session"].given("abc", "")


@pytest.mark.parametrize("session", [None, Session(None), Session(""), Session("invented")])
def test_no_session(request_: Any, session: Any) -> None:
    request_.session = session
    assert of("session", request_) == IP


def test_header(request_: Any, caplog: pytest.LogCaptureFixture) -> None:
    request_.META["HTTP_X_API_KEY"] = "Secret"
    expected = ("header", "x-api-key", "Secret")
    assert of("header", request_, "X-API-Key") == expected
    assert of("header", request_, "x-api-key") == expected
    assert KEYS["header"].given("Secret", "X-API-Key") == expected
    other = HttpRequest()
    other.META["HTTP_X_API_KEY"] = "secret"
    assert of("header", other, "X-API-Key") != expected
    assert caplog.records == []


def test_whoever_sends_no_header_shares_a_bucket(
    request_: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "_said", set())
    for _ in range(3):
        assert of("header", HttpRequest(), "X-API-Key") == ("header", "x-api-key", "")
    assert [each.getMessage() for each in caplog.records] == [
        "Some clients send no header X-API-Key; all of them share one bucket."
    ]


def test_whoever_has_no_address_shares_a_bucket(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "_said", set())
    for _ in range(3):
        assert of("ip", HttpRequest()) == ("ip", "")
    (said,) = caplog.records
    assert said.getMessage().startswith("The server gives no address")


def test_everybody(request_: Any) -> None:
    assert of("global", request_) == of("global", HttpRequest()) == ("global",)
    assert KEYS["global"].given("", "") == ("global",)


def test_only_the_signed_in_tenant_counts(request_: Any) -> None:
    """B38: no key of ours reads a query, a body or a token that nobody verified."""
    request_.user = User(1)
    request_.META["QUERY_STRING"] = "tenant_id=other"
    request_.META["HTTP_AUTHORIZATION"] = "Bearer e30.eyJzdWIiOiI5OTkifQ."
    found = [of(kind, request_) for kind in ("ip", "user", "user_or_ip", "session", "global")]
    assert found == [IP, ("user", "1"), ("user", "1"), IP, ("global",)]
