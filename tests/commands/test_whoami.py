"""`manage.py ratelimit whoami`, and the page of the same name in the admin."""

import io

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command


def whoami(*args: str) -> dict[str, str]:
    out = io.StringIO()
    call_command("ratelimit", "whoami", *args, stdout=out)
    pairs = (line.split(":", 1) for line in out.getvalue().splitlines())
    return {name: value.strip() for name, value in pairs}


def test_a_forged_header_is_not_read_without_trusted_proxies():
    seen = whoami("198.51.100.9", "--forwarded", "1.2.3.4")
    assert seen["client address"] == "198.51.100.9"
    assert seen["TRUSTED_PROXIES"] == "none: X-Forwarded-For is not read"


def test_the_hops_of_trusted_proxies_are_told_one_by_one(settings):
    settings.RATELIMIT = {"TRUSTED_PROXIES": ["10.0.0.0/8"]}
    seen = whoami("10.0.0.5", "--forwarded", "6.6.6.6, 203.0.113.7, 10.0.0.9")
    assert seen["hops, from the peer"] == (
        "10.0.0.5 (trusted proxy) ← 10.0.0.9 (trusted proxy) ← 203.0.113.7"
    )
    assert seen["counted by ip as"] == "203.0.113.7"


def test_an_ipv6_client_is_counted_by_its_network():
    assert whoami("2001:db8:0:1::7")["counted by ip as"] == "2001:db8:0:1::/64"


def test_a_unix_socket_says_that_all_share_a_bucket():
    assert whoami()["client address"] == "none: all such clients share one bucket"


def test_what_is_no_address_is_refused():
    with pytest.raises(CommandError, match=r"'proxy' is no address: give one such as 10\.0\.0\.5"):
        whoami("proxy")


@pytest.mark.django_db
def test_staff_see_their_own_request_in_the_admin(client):
    client.force_login(User.objects.create_user("staff", is_staff=True))
    page = client.get("/admin/ratelimit_app/policy/whoami/", REMOTE_ADDR="192.0.2.7")
    assert page.status_code == 200
    assert "<td>192.0.2.7</td>" in page.content.decode()


@pytest.mark.django_db
def test_nobody_else_gets_the_page(client):
    client.force_login(User.objects.create_user("visitor"))
    assert client.get("/admin/ratelimit_app/policy/whoami/").status_code == 302
