"""What the doctor says of one thing."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ratelimit_app.conf import SettingError

log = logging.getLogger("ratelimit_app")

Level: TypeAlias = Literal["ok", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, how it is, what was found, and what to do about it."""

    subject: str
    level: Level
    found: str
    fix: str = ""


def sentence(text: str) -> str:
    """With a capital at its beginning."""
    return text[:1].upper() + text[1:]


def guarded(
    subject: str, look: Callable[..., Iterator[Finding]], *arguments: Any
) -> Iterator[Finding]:
    """What `look` finds; whatever it raises is a finding too."""
    try:
        yield from look(*arguments)
    except SettingError:
        # The checks say which setting cannot be used, and how it can.
        return
    except Exception as error:
        log.debug("The doctor stumbled.", exc_info=True)
        # Not its text: it may tell of an address with a password.
        yield Finding(
            subject,
            "error",
            f"could not be looked at: {type(error).__name__}",
            "The log of ratelimit_app has the traceback, at the level DEBUG.",
        )
