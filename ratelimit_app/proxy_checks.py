"""System checks of who is believed about a client's address."""

import os

from django.conf import settings
from django.core.checks import CheckMessage, Warning, register

from ratelimit_app.checks import TAG, usable_conf

#: Nobody has a wider network than these all to himself: bits of the prefix, by IP version.
_WIDEST = {4: 8, 6: 16}


def register_proxy_checks() -> None:
    register(check_trust, TAG)
    register(check_proxy, TAG, deploy=True)
    register(check_server, TAG, deploy=True)


def check_proxy(**kwargs: object) -> list[CheckMessage]:
    """A site that believes a proxy's headers elsewhere is behind one."""
    behind = [name for name in ("SECURE_PROXY_SSL_HEADER", "USE_X_FORWARDED_HOST") if _is_set(name)]
    if not behind or usable_conf().trusted_proxies:
        return []
    return [
        Warning(
            f"{behind[0]} says that the site is behind a proxy, and RATELIMIT['TRUSTED_PROXIES'] "
            "is empty, so all clients may be counted as one: the proxy.",
            hint="Name the proxy's network there, such as '10.0.0.0/8'; "
            "manage.py ratelimit whoami shows what that does.",
            id="ratelimit_app.W006",
        )
    ]


def check_trust(**kwargs: object) -> list[CheckMessage]:
    """Whoever is trusted names his own address, and so his bucket."""
    networks = usable_conf().trusted_proxies.networks
    return [
        Warning(
            f"RATELIMIT['TRUSTED_PROXIES'] has {each}, in which clients are too: each of them "
            "chooses the address it is counted by.",
            hint="Name only the networks of your proxies.",
            id="ratelimit_app.W011",
        )
        for each in networks
        if each.prefixlen < _WIDEST[each.version]
    ]


def check_server(**kwargs: object) -> list[CheckMessage]:
    """uvicorn reads this variable, and takes the leftmost address: what the client wrote."""
    if os.environ.get("FORWARDED_ALLOW_IPS", "").strip() != "*":
        return []
    return [
        Warning(
            "FORWARDED_ALLOW_IPS is '*': under uvicorn each client chooses the address it is "
            "counted by.",
            hint="Name your proxies' addresses in it, or run uvicorn with --no-proxy-headers and "
            "name them in RATELIMIT['TRUSTED_PROXIES']. With gunicorn alone, silence this check.",
            id="ratelimit_app.W012",
        )
    ]


def _is_set(name: str) -> bool:
    return bool(getattr(settings, name, None))
