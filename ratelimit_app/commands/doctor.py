"""`manage.py ratelimit doctor`: is the limiter of this site well, and if not, what to do."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser, OutputWrapper

from ratelimit_app.doctor import Finding, examine

HELP = "Look at Redis, policies and settings, and say what to do where something is wrong."
ABOUT = """
Looks at all that the limiter needs: whether Redis answers, how fast, whether it keeps what it is
told; whether the policies can be read and stand before a view; and the settings. It works while any
of that is down, and changes nothing. Ends with 1 if there is an error, and with 0 otherwise:
warnings are for people.

Connections, breaker and counts are of one process, which here is this command. The page of the same
name in the admin, on the list of policies, asks a process that serves.

  manage.py ratelimit doctor
  manage.py ratelimit doctor --output json
"""


def add_arguments(parser: CommandParser) -> None:
    """See `SubCommand.add_arguments`."""
    parser.add_argument(
        "--output", choices=["text", "json"], default="text", help="how to print it (text)"
    )


def run(options: dict[str, Any], out: OutputWrapper, _err: OutputWrapper) -> None:
    """See `SubCommand.run`."""
    if options["output"] == "json":
        found = list(examine())
        out.write(json.dumps([asdict(finding) for finding in found], indent=2))
    else:
        found = list(_said(examine(), out))
    errors = sum(finding.level == "error" for finding in found)
    if errors:
        raise CommandError(f"{errors} {'error' if errors == 1 else 'errors'}; see above.")


def _said(findings: Iterable[Finding], out: OutputWrapper) -> Iterable[Finding]:
    """Each at once: what comes later may take its time."""
    for finding in findings:
        out.write(f"{finding.level:7}  {finding.subject}: {finding.found}")
        if finding.fix:
            out.write(f"{'':7}  → {finding.fix}")
        out.flush()
        yield finding
