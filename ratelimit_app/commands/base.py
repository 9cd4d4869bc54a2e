"""What the sub-commands share: their shape, and errors that name the value and the fix."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError, CommandParser, OutputWrapper
from django.db import DatabaseError, InterfaceError

from ratelimit_app import limiter, refresh, sources, stores
from ratelimit_app.addresses import parse
from ratelimit_app.conf import conf
from ratelimit_app.policies import CompiledPolicy
from ratelimit_app.stores import Unavailable

from .words import key_kind

#: What the database raises, if it is there at all.
DATABASE_FAULTS = (DatabaseError, InterfaceError)

MIGRATE = "run manage.py migrate, or see whether the database runs"


class SubCommand(Protocol):
    """A module with these four. A new sub-command is one module, and a line in `ratelimit.py`."""

    #: One line, for the list of sub-commands.
    HELP: str
    #: What it does, in which units, with an example: shown by --help as it stands.
    ABOUT: str

    def add_arguments(self, parser: CommandParser, /) -> None:
        """Say what it is told on the command line."""
        ...

    def run(self, options: dict[str, Any], out: OutputWrapper, err: OutputWrapper, /) -> None:
        """Do it: results go to `out`, remarks to `err`. Raises `CommandError`."""
        ...


@contextmanager
def explained() -> Iterator[None]:
    """Turns what the limiter, its store and its table raise into an error with a fix."""
    try:
        yield
    except limiter.UnknownPolicy as error:
        reason = table_fault()
        more = "" if reason is None else f" The table cannot be read ({reason}): {MIGRATE}."
        raise CommandError(f"{error.args[0]}{more}") from error
    except Unavailable as error:
        raise CommandError(
            f"The store in RATELIMIT['CACHE'] ({conf().cache!r}) did not answer ({error}). See "
            "whether it runs at its LOCATION in CACHES, and lets this process in."
        ) from error
    except DATABASE_FAULTS as error:
        raise CommandError(f"The database did not answer ({_line(error)}): {MIGRATE}.") from error
    except ImproperlyConfigured as error:
        raise CommandError(str(error)) from error


def table_fault() -> str | None:
    """Why the table of policies cannot be read, so that those of the settings count instead."""
    try:
        sources.fingerprint()
    except (*DATABASE_FAULTS, ImproperlyConfigured) as error:
        return _line(error)
    return None


def policy_of(slug: str) -> CompiledPolicy:
    """The policy of this slug, as a process that starts now sees it. Raises `UnknownPolicy`."""
    return limiter.by_slug(slug, refresh.keeper.current())


def key_of(policy: CompiledPolicy, key: str | None) -> str:
    """The key as it was given, if it can be one of this policy's."""
    kind = key_kind(policy)
    if not policy.key.needs_value:
        if key:
            raise CommandError(
                f"--key {key!r} cannot be: policy {policy.slug!r} has one bucket for everybody. "
                "Leave --key out."
            )
        return ""
    if not key:
        raise CommandError(f"--key is missing: policy {policy.slug!r} counts by {kind}; say which.")
    if kind == "ip" and parse(key) is None:
        raise CommandError(
            f"--key {key!r} is no address, and policy {policy.slug!r} counts by ip: give one such "
            "as 192.0.2.7 or 2001:db8::7."
        )
    return key


def is_shared() -> bool:
    """Whether other processes see the same buckets. Raises `Unavailable`."""
    return stores.current().version() is not None


def remark(err: OutputWrapper, text: str) -> None:
    """Say something beside the result; not in the red of an error."""
    err.write(text, style_func=str)


def _line(error: Exception) -> str:
    first = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {first[0]}"
