"""Set-ups in which clients choose the address they are counted by are told at the start."""

from typing import Any

import pytest

from ratelimit_app import proxy_checks


@pytest.mark.parametrize(
    ("header", "trusted", "expected"),
    [
        (None, [], []),
        (("HTTP_X_FORWARDED_PROTO", "https"), [], ["ratelimit_app.W006"]),
        (("HTTP_X_FORWARDED_PROTO", "https"), ["10.0.0.0/8"], []),
        (("HTTP_X_FORWARDED_PROTO", "https"), ["unix"], []),
    ],
)
def test_a_site_behind_a_proxy_must_name_it(settings, header, trusted, expected):
    settings.SECURE_PROXY_SSL_HEADER = header
    settings.RATELIMIT = {"TRUSTED_PROXIES": trusted}
    assert [each.id for each in proxy_checks.check_proxy()] == expected


@pytest.mark.parametrize(
    ("trusted", "told"),
    [
        ([], []),
        (["10.0.0.0/8", "2001:db8::/32", "192.0.2.1", "unix"], []),
        (["0.0.0.0/0", "10.0.0.0/8", "::/0"], ["0.0.0.0/0", "::/0"]),
        # As halves it is no better.
        (["0.0.0.0/1", "128.0.0.0/1"], ["0.0.0.0/1", "128.0.0.0/1"]),
        (["8.0.0.0/7", "2000::/15"], ["8.0.0.0/7", "2000::/15"]),
    ],
)
def test_networks_in_which_clients_are_must_not_be_trusted(settings, trusted, told):
    settings.RATELIMIT = {"TRUSTED_PROXIES": trusted}
    assert [(each.id, each.msg) for each in proxy_checks.check_trust()] == [
        (
            "ratelimit_app.W011",
            f"RATELIMIT['TRUSTED_PROXIES'] has {network}, in which clients are too: each of them "
            "chooses the address it is counted by.",
        )
        for network in told
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, []),
        ("127.0.0.1", []),
        ("127.0.0.1,10.0.0.1", []),
        ("*", ["ratelimit_app.W012"]),
        (" * ", ["ratelimit_app.W012"]),
    ],
)
def test_the_server_must_not_take_what_a_client_wrote(
    monkeypatch: pytest.MonkeyPatch, value: str | None, expected: list[str]
) -> None:
    monkeypatch.delenv("FORWARDED_ALLOW_IPS", raising=False)
    if value is not None:
        monkeypatch.setenv("FORWARDED_ALLOW_IPS", value)
    found: list[Any] = proxy_checks.check_server()
    assert [each.id for each in found] == expected
