"""What docs/recipes.md promises of its own code."""

import json
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import pytest
from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.urls import path
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed

from ratelimit_app import checks, limiter, testing

MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "ratelimit_app.middleware.RateLimitMiddleware",
]
#: How often each account's password was checked.
CHECKED: list[str] = []


class Backend:
    """Knows one account, and needs no database."""

    def authenticate(self, request: Any, username: str, password: str) -> Any:
        CHECKED.append(username)
        if (username, password) == ("owner", "right"):
            return User(pk=1, username="owner", password="hashed")
        return None

    def get_user(self, pk: int) -> Any:
        return User(pk=1, username="owner", password="hashed") if pk == 1 else None


class Token(BaseAuthentication):
    """A right token, a wrong one, or none."""

    def authenticate(self, request: Any) -> Any:
        token = request.headers.get("Authorization")
        if token is None:
            return None
        if token != "Token right":
            raise AuthenticationFailed
        return User(pk=7), token

    def authenticate_header(self, request: Any) -> str:
        return "Token"


@pytest.fixture(autouse=True)
def site(settings: Any, shop: Any, policies: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    CHECKED.clear()
    urls: Any = ModuleType("urls_of_the_shop")
    done = path("done/", lambda request: HttpResponse("done"), name="password_reset_done")
    urls.urlpatterns = [
        path("login/", shop["shop.views"].Login.as_view(success_url="/done/"), name="login"),
        path("otp/", shop["shop.otp"].otp),
        path("reset/", shop["shop.reset"].Reset.as_view(), name="password_reset"),
        path("batch/", shop["shop.batch"].batch),
        path("api/orders/", shop["shop.api"].Orders.as_view(authentication_classes=[Token])),
        done,
    ]
    settings.ROOT_URLCONF = urls
    settings.MIDDLEWARE = MIDDLEWARE
    settings.AUTHENTICATION_BACKENDS = [f"{__name__}.Backend"]
    settings.SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
    settings.LOGIN_REDIRECT_URL = "/done/"
    # The page of the form, and the last login, are the site's.
    settings.TEMPLATES = [
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "OPTIONS": {
                "loaders": [
                    (
                        "django.template.loaders.locmem.Loader",
                        {"registration/login.html": "Wrong.", "429.html": "Too many."},
                    )
                ]
            },
        }
    ]
    monkeypatch.setattr("django.contrib.auth.signals.user_logged_in.send", lambda **_: None)
    return settings


def login(name: str, password: str = "wrong", client: Client | None = None, **more: Any) -> Any:
    data = {"username": name, "password": password}
    return (client or Client()).post("/login/", data, secure=True, **more)


def test_the_policies_of_the_page_are_sound(settings: Any, policies: Any) -> None:
    settings.RATELIMIT = {"POLICIES": [{"slug": slug, **row} for slug, row in policies.items()]}
    assert [*checks.check_settings(), *checks.check_policies()] == []


def test_of_100_logins_at_once_5_passwords_are_checked() -> None:
    def attempt(number: int) -> int:
        # From everywhere, so that only the account is in the way.
        return int(login("owner", REMOTE_ADDR=f"192.0.2.{number}").status_code)

    with ThreadPoolExecutor(20) as pool:
        statuses = list(pool.map(attempt, range(100)))
    assert (statuses.count(200), statuses.count(429)) == (5, 95)
    assert CHECKED == ["owner"] * 5


def test_one_address_that_tries_many_accounts_is_stopped() -> None:
    statuses = [login(f"user-{number}").status_code for number in range(25)]
    assert statuses == [200] * 20 + [429] * 5
    # What the address was refused has not used up the accounts.
    assert login("user-24", REMOTE_ADDR="192.0.2.1").status_code == 200


@pytest.mark.parametrize(
    "spellings",
    [["owner", "OWNER", " Owner", "\uff4fwner", "oWNER "], ["", " ", "\t", "\u3000", ""]],
)
def test_all_spellings_of_one_account_are_one(spellings: list[str]) -> None:
    assert [login(each).status_code for each in spellings] == [200] * 5
    assert login(spellings[0]).status_code == 429


def test_the_account_is_what_the_backend_looks_up(shop: Any) -> None:
    normalised = shop["shop.limits"].normalised
    for name in ("Straße", "ﬁ", "e\u0301", "İ", "K"):
        assert normalised(name) == normalised(unicodedata.normalize("NFKC", name))
        assert normalised(name.upper()) == normalised(name.upper().lower().upper())


def test_the_right_password_costs_the_account_nothing_and_the_address_one() -> None:
    for _ in range(4):
        assert login("owner", "wrong").status_code == 200
    for _ in range(10):
        assert login("owner", "right").status_code == 302
    assert login("owner", "wrong").status_code == 200
    assert login("owner", "right").status_code == 429
    assert limiter.peek("login-address", key="127.0.0.1", cost=0).remaining == 20 - 15


def test_strangers_lock_nobody_out_of_his_own_device() -> None:
    device, other = Client(), Client()
    assert login("owner", "right", device).status_code == 302
    assert login("someone", "wrong", other).status_code == 200
    for _ in range(5):
        assert login("owner").status_code == 200
    assert login("owner", "right").status_code == 429
    assert login("owner", "right", device).status_code == 302
    # The mark is good for the account that it was given for, and cannot be made up.
    forged = Client()
    mark = str(device.cookies["device"].value)
    forged.cookies["device"] = mark[:-1]
    assert login("owner", "right", forged).status_code == 429
    for _ in range(5):
        login("third", "wrong")
    assert login("third", "wrong", device).status_code == 429


def test_an_account_that_is_not_there_is_refused_alike() -> None:
    told = {}
    for name in ("owner", "nobody-of-this-name"):
        testing.reset()
        answers = [login(name) for _ in range(7)]
        # Django's page tells the time in it.
        shown = [{**each.headers, "Expires": None} for each in answers]
        told[name] = [
            (each.status_code, head, each.content)
            for each, head in zip(answers, shown, strict=True)
        ]
    assert told["owner"] == told["nobody-of-this-name"]
    assert [status for status, *_ in told["owner"]] == [200] * 5 + [429] * 2


def test_codes_are_counted_by_who_waits_for_them(
    shop: Any, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shop["shop.otp"], "right_code", lambda user, code: code == "123456")
    tries = []
    for number in range(7):
        # A session of its own each time, as by logging in anew.
        fresh = Client()
        session = fresh.session
        session["otp_user"] = "1"
        session.save()
        fresh.cookies["sessionid"] = str(session.session_key)
        tries.append(fresh.post("/otp/", {"code": "123456" if number > 5 else "0"}).status_code)
    assert tries == [403] * 5 + [429] * 2


@pytest.mark.django_db
def test_a_mailbox_is_not_flooded_and_nothing_is_told(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []
    # Releases of Django differ in how a test collects mails.
    monkeypatch.setattr(PasswordResetForm, "send_mail", lambda *mail, **_: sent.append(mail))
    settings.TEMPLATES[0]["OPTIONS"]["loaders"][0][1].update(
        {
            "registration/password_reset_subject.txt": "Reset",
            "registration/password_reset_email.html": "Reset",
        }
    )
    User.objects.create_user("owner", "owner@example.com", "right")
    answers = {
        name: [
            Client().post("/reset/", {"email": name}, REMOTE_ADDR=f"192.0.2.{number}")
            for number in range(5)
        ]
        for name in ("owner@example.com", "OWNER@example.com", "nobody@example.com")
    }
    shown = {(each.status_code, each["Location"]) for some in answers.values() for each in some}
    assert shown == {(302, "/done/")}
    assert len(sent) == 3
    at_one = [Client().post("/reset/", {"email": f"a{at}@example.com"}) for at in range(12)]
    assert [each.status_code for each in at_one] == [302] * 10 + [429] * 2


def post(body: str) -> tuple[int, dict[str, Any], str | None]:
    answer = Client().post("/batch/", body, content_type="application/json")
    return answer.status_code, json.loads(answer.content), answer.headers.get("Retry-After")


def test_a_batch_costs_what_it_holds() -> None:
    assert post(json.dumps([{}] * 60)) == (200, {"ran": 60}, None)
    assert post(json.dumps([{}] * 60)) == (429, {"error": "Too many operations."}, "12")
    assert post(json.dumps([{}] * 101)) == (413, {"error": "At most 100 operations."}, None)
    for nonsense in ("{", "\0", "[" * 100_000):
        assert post(nonsense)[0] == 400
    assert post("[]") == (200, {"ran": 0}, None)
    assert post("{}") == (200, {"ran": 1}, None)
    assert limiter.peek("batch", key="127.0.0.1", cost=0).remaining == 36


def test_tokens_are_counted_by_user_and_wrong_ones_by_address() -> None:
    def ask(token: str | None, address: str) -> int:
        headers = {} if token is None else {"Authorization": token}
        return Client().get("/api/orders/", headers=headers, REMOTE_ADDR=address).status_code

    assert {ask("Token wrong", "192.0.2.1") for _ in range(300)} == {401}
    assert ask("Token wrong", "192.0.2.1") == 429
    assert ask("Token right", "192.0.2.1") == 429
    # Of the user nothing is spent yet; he is one, whatever his address.
    assert [ask("Token right", f"192.0.2.{at + 2}") for at in range(101)] == [200] * 100 + [429]
