"""Tells that policies were written, once for each operation, right after the write.

It does not wait for the commit: whoever listens must (see `transaction.on_commit`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.db.models import Model
from django.dispatch import Signal

#: Sent with `using`, the alias of the database that was written.
policies_changed = Signal()

_held = ContextVar("ratelimit_app_held", default=False)


def announce(sender: type[Model], using: str) -> None:
    """Send `policies_changed`, or leave it to the operation that this write is a part of."""
    if not _held.get():
        policies_changed.send(sender=sender, using=using)


@contextmanager
def one_signal(sender: type[Model], using: str) -> Iterator[None]:
    """Whatever is written inside is announced once, at the end."""
    token = _held.set(True)
    try:
        yield
    finally:
        _held.reset(token)
    announce(sender, using)
