"""A refusal is one constant answer: it tells of no account, no identity and no other client."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User

from .site import Site

pytestmark = pytest.mark.usefixtures("in_memory")

WHO = {
    "known": {"x-account": "owner", "x-forwarded-for": "6.6.6.6"},
    "unknown": {"x-account": "nobody-of-this-name"},
    "nobody": {},
    "forged": {"x-account": "<b>canary</b>", "x-tenant": "'--", "cookie": "sessionid=invented"},
}
BROWSER, PROGRAM = "text/html,*/*;q=0.8", "application/json"


def account(request: Any) -> str:
    """Looked up nowhere: counted whether or not there is one."""
    return str(request.headers.get("x-account", ""))


@pytest.mark.parametrize("accept", [BROWSER, PROGRAM], ids=["browser", "program"])
def test_whoever_is_refused_is_told_the_same(
    site: Site, accept: str, django_assert_num_queries: Any
) -> None:
    User.objects.create_user("owner")
    site.limited("login", limit=1, key="function", key_name=f"{__name__}.account")
    told = set()
    for number, headers in enumerate(WHO.values()):
        address = f"192.0.2.{number}"
        sent = {**headers, "accept": accept}
        assert site.get(headers=sent, address=address).status_code == 200
        with django_assert_num_queries(0):
            response = site.get(headers=sent, address=address)
        shown = frozenset(response.headers.items())
        # DRF's page for browsers has a token against forgery in it.
        body = re.sub(rb'"csrfToken": "\w+"', b"", response.content)
        told.add((response.status_code, shown, body))
    ((status, shown, body),) = told
    assert status == 429
    for secret in (b"owner", b"192.0.2", b"canary", b"invented", b"x-account"):
        assert secret not in body.lower()
        assert secret not in repr(shown).lower().encode()
