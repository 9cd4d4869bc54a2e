"""What a client or a caller may say of who they are, and what is made of it."""

import uuid

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.sessions.backends.db import SessionStore
from django.test import RequestFactory

from ratelimit_app import limiter
from ratelimit_app.keys import KEYS
from ratelimit_app.testing import override_policies


class Looked(SessionStore):
    """A session store that must not be asked."""

    def load(self):
        raise AssertionError("the database was asked for what no session is called")


@pytest.mark.parametrize("kind", ["session", "user_or_ip"])
@pytest.mark.parametrize(
    "cookie", ["\0aaaaaaaaaaaaaaaaaaaa", "\x1baaaaaaaaaaaaaaaaaaaa"], ids=["nul", "escape"]
)
def test_a_cookie_that_no_session_is_called_counts_by_address(kind, cookie):
    request = RequestFactory().get("/", REMOTE_ADDR="192.0.2.7")
    request.session = Looked(cookie)
    request.user = AnonymousUser()
    assert KEYS[kind].of(request, "") == ("ip", "192.0.2.7")


NOBODY = {
    "none": None,
    "bytes": b"x",
    "list": ["x"],
    "object": object(),
    "float": 1.5,
    "bool": True,
    "anonymous": AnonymousUser(),
    "unsaved": User(),
}


@pytest.mark.parametrize("kind", ["ip", "user", "header", "function"])
@pytest.mark.parametrize("key", NOBODY.values(), ids=NOBODY)
def test_what_names_nobody_is_refused_where_it_is_given(kind, key):
    name = {"header": "X-Key", "function": "builtins.str"}.get(kind, "")
    policy = {"limit": 5, "period": 60, "key": kind, "key_name": name}
    with override_policies(p=policy), pytest.raises(ValueError, match="give a text"):
        limiter.take("p", key=key)


@pytest.mark.parametrize(
    "key", ["42", 42, uuid.UUID(int=42), User(pk=42)], ids=["text", "number", "uuid", "model"]
)
def test_texts_numbers_and_models_are_who_they_are(key):
    with override_policies(p={"limit": 5, "period": 60, "key": "user"}):
        assert limiter.take("p", key=key).remaining == 4
