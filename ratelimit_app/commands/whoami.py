"""`manage.py ratelimit whoami`: which address and key the site would see in a request."""

from typing import Any

from django.core.management.base import CommandError, CommandParser, OutputWrapper
from django.http import HttpRequest

from ratelimit_app.addresses import parse
from ratelimit_app.whoami import seen

from .words import shown

HELP = "Show which client address and key the site sees in a request, and why."
ABOUT = """
Shows whose address the site takes a request to come from, hop by hop, by RATELIMIT's
TRUSTED_PROXIES. Give the address of the peer (your proxy, as the site sees it) and the
X-Forwarded-For that it sends. In the admin, policies have a page that shows the same of your own
request.

  manage.py ratelimit whoami 10.0.0.5 --forwarded "198.51.100.9, 10.0.0.7"
"""


def add_arguments(parser: CommandParser) -> None:
    """See `SubCommand.add_arguments`."""
    parser.add_argument(
        "peer", metavar="PEER", nargs="?", default="", help="who connects (empty: a Unix socket)"
    )
    parser.add_argument("--forwarded", default="", help="the X-Forwarded-For header as it arrives")


def run(options: dict[str, Any], out: OutputWrapper, _err: OutputWrapper) -> None:
    """See `SubCommand.run`."""
    if options["peer"] and parse(options["peer"]) is None:
        raise CommandError(f"{options['peer']!r} is no address: give one such as 10.0.0.5.")
    request = HttpRequest()
    request.META["REMOTE_ADDR"] = options["peer"]
    if options["forwarded"]:
        request.META["HTTP_X_FORWARDED_FOR"] = options["forwarded"]
    # Users and sessions are not told by an address.
    lines = seen(request)[:-2]
    width = max(len(name) for name, _ in lines) + 1
    out.write("\n".join(f"{name + ':':{width}} {_safe(value)}" for name, value in lines))


def _safe(value: str) -> str:
    return value if value.isprintable() else shown(value)
