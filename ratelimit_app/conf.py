"""The only reader of `RATELIMIT` in the settings: typed and checked, read at call time."""

import hashlib
import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Proxies:
    """Who is believed about clients: networks, and whoever comes by the server's Unix socket."""

    networks: tuple[Network, ...] = ()
    unix: bool = False

    def __bool__(self) -> bool:
        return self.unix or bool(self.networks)

    def __contains__(self, peer: Address | None) -> bool:
        """Whether a peer is one; None is a peer without an address, on a Unix socket."""
        if peer is None:
            return self.unix
        return any(peer in network for network in self.networks)

    def __str__(self) -> str:
        return ", ".join([*map(str, self.networks), *(["unix"] if self.unix else [])])


@dataclass(frozen=True, slots=True)
class Conf:
    """`RATELIMIT` with its defaults; see docs/settings.md for each."""

    cache: str = "default"
    enabled: bool = True
    headers: str = "draft"
    trusted_proxies: Proxies = Proxies()
    ipv6_prefix: int = 64
    keys: Mapping[str, str] = field(default_factory=dict)
    on_error: str = "open"
    timeout: float = 0.1
    deadline: float = 0.25
    max_buckets: int = 100_000
    lease_error: float = 0.0
    refresh: float = 0.5
    reload: float = 30.0
    secret: bytes = b""
    policies: tuple[Mapping[str, Any], ...] = ()


class SettingError(ImproperlyConfigured):
    """A value in `RATELIMIT` cannot be used; says which, what it is and what is right."""


_conf: Conf | None = None


def has_own_secret() -> bool:
    """Whether identities are hashed with `SECRET`, and not with what follows from `SECRET_KEY`."""
    return bool(getattr(settings, "RATELIMIT", {}).get("SECRET"))


def conf() -> Conf:
    """The settings as they are now; `override_settings` and its like are obeyed.

    Raises `SettingError` for the first value that cannot be used.
    """
    global _conf
    if _conf is None:
        _conf = _parse(getattr(settings, "RATELIMIT", {}))
    return _conf


def _forget(*, setting: str, **_: object) -> None:
    global _conf
    if setting in ("RATELIMIT", "SECRET_KEY"):
        _conf = None


setting_changed.connect(_forget)


def problems() -> list[str]:
    """Every reason why `RATELIMIT` cannot be used, for the system check."""
    raw = getattr(settings, "RATELIMIT", {})
    if not isinstance(raw, Mapping):
        return [f"RATELIMIT must be a dict, not {raw!r}."]
    found = []
    for name, value in raw.items():
        try:
            _parse({name: value})
        except SettingError as error:
            found.append(str(error))
    return found


def _parse(raw: Mapping[str, Any]) -> Conf:
    if not isinstance(raw, Mapping):
        raise SettingError(f"RATELIMIT must be a dict, not {raw!r}.")
    values: dict[str, Any] = {}
    for name, value in raw.items():
        parser = _PARSERS.get(name)
        if parser is None:
            known = ", ".join(_PARSERS)
            raise SettingError(f"RATELIMIT has no setting {name!r}; it knows {known}.")
        try:
            values[name.lower()] = parser(value)
        except (TypeError, ValueError) as error:
            raise SettingError(f"RATELIMIT[{name!r}] is {value!r}: {error}.") from None
    if not values.get("secret"):
        values["secret"] = _secret(str(settings.SECRET_KEY))
    return Conf(**values)


def _secret(value: Any) -> bytes:
    """A key for keyed BLAKE2b (RFC 7693), derived: the secret itself is used for nothing else."""
    if value is None:
        return b""
    if not isinstance(value, (str, bytes)) or not value:
        raise ValueError(
            "it must be a text that is not empty, or None to derive it from SECRET_KEY"
        )
    text = value.encode() if isinstance(value, str) else value
    return hashlib.blake2b(text, person=b"ratelimit_app", digest_size=32).digest()


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("it must be True or False")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError("it must be the alias of a cache in CACHES")
    return value


def _choice(*choices: str) -> Callable[[object], str]:
    def parse(value: object) -> str:
        if value not in choices:
            raise ValueError(f"it must be one of {', '.join(choices)}")
        return str(value)

    return parse


def _number(low: float, high: float, of: str) -> Callable[[Any], float]:
    def parse(value: Any) -> float:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not low <= value <= high:
            raise ValueError(f"it must be a number of {of} from {low} to {high}")
        return float(value)

    return parse


_seconds = _number(0.001, 86400, "seconds")


def _whole(low: int, high: int) -> Callable[[object], int]:
    def parse(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"it must be a whole number from {low} to {high}")
        return value

    return parse


def _proxies(value: object) -> Proxies:
    if not isinstance(value, (list, tuple)):
        raise TypeError("it must be a list of networks such as '10.0.0.0/8', and 'unix'")
    try:
        # As text: a number or bytes would be an address too, of nobody's choosing.
        networks = tuple(ipaddress.ip_network(str(each)) for each in value if each != "unix")
    except ValueError as error:
        raise ValueError(
            f"{error}; give a network such as '10.0.0.0/8', or 'unix' for a Unix socket"
        ) from None
    return Proxies(networks, "unix" in value)


def _key_paths(value: object) -> Mapping[str, str]:
    if not isinstance(value, Mapping) or not all(
        isinstance(part, str) and part for pair in value.items() for part in pair
    ):
        raise TypeError("it must be a dict of names and dotted paths of functions")
    return dict(value)


def _policies(value: object) -> tuple[Mapping[str, Any], ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(each, Mapping) for each in value):
        raise TypeError("it must be a list of dicts with the fields of a policy")
    return tuple(dict(each) for each in value)


_PARSERS: dict[str, Callable[[Any], Any]] = {
    "CACHE": _text,
    "ENABLED": _flag,
    "HEADERS": _choice("draft", "x", "both", "none"),
    "TRUSTED_PROXIES": _proxies,
    "IPV6_PREFIX": _whole(1, 128),
    "KEYS": _key_paths,
    "ON_ERROR": _choice("open", "closed", "local"),
    "TIMEOUT": _seconds,
    "DEADLINE": _seconds,
    "MAX_BUCKETS": _whole(1, 100_000_000),
    "LEASE_ERROR": _number(0, 100, "percent"),
    "REFRESH": _seconds,
    "RELOAD": _seconds,
    "SECRET": _secret,
    "POLICIES": _policies,
}
