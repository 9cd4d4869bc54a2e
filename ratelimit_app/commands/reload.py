"""`manage.py ratelimit reload`: tells every process to load the policies anew."""

import uuid
from typing import Any

from django.core.management.base import CommandParser, OutputWrapper

from ratelimit_app import stores
from ratelimit_app.conf import conf

from .base import is_shared
from .words import seconds

HELP = "Tell every process to load the policies anew."
ABOUT = """
Tells every process to load the policies anew. Needed only after an edit that went round Django,
such as SQL by hand: an edit in the admin or by a command is announced by itself.

  manage.py ratelimit reload
"""


def add_arguments(_parser: CommandParser) -> None:
    """See `SubCommand.add_arguments`."""


def run(_options: dict[str, Any], out: OutputWrapper, _err: OutputWrapper) -> None:
    """See `SubCommand.run`."""
    now = conf()
    if is_shared():
        stores.current().announce(uuid.uuid4().hex)
        out.write(f"Announced: every process loads the policies within {seconds(now.refresh)}.")
        return
    out.write(
        f"RATELIMIT['CACHE'] ({now.cache!r}) is the memory of each process, so none can be told. "
        f"Each looks every {seconds(now.refresh)} whether Django wrote the table, and loads it "
        f"every {seconds(now.reload)} (RELOAD) in any case. To be sooner, restart them, or save a "
        "policy in the admin."
    )
