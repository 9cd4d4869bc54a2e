"""`manage.py ratelimit …`: finds the sub-command, and turns its faults into errors with a fix."""

import argparse
import os
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from ratelimit_app.commands import check, doctor, list_, reload, replay, reset, show, whoami
from ratelimit_app.commands.base import SubCommand, explained

#: Where a new sub-command is entered.
COMMANDS: dict[str, SubCommand] = {
    "list": list_,
    "show": show,
    "check": check,
    "reset": reset,
    "reload": reload,
    "replay": replay,
    "whoami": whoami,
    "doctor": doctor,
}

#: What a shell shows for a process that ended with SIGINT or SIGPIPE.
_INTERRUPTED, _BROKEN_PIPE = 130, 141

#: Options of every Django command, which people write at the end as well.
_COMMON: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "--settings": {},
        "--pythonpath": {},
        "--verbosity": {"type": int},
        "--traceback": {"action": "store_true"},
        "--no-color": {"action": "store_true"},
        "--force-color": {"action": "store_true"},
        "--skip-checks": {"action": "store_true"},
    }
)


class Command(BaseCommand):
    """See `COMMANDS`."""

    help = "Look at policies and their buckets, reset them, and try a policy on a log."
    # It must work when something is wrong with the site.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """One parser for each sub-command."""
        subparsers = parser.add_subparsers(dest="subcommand", metavar="COMMAND", required=True)
        for name, command in COMMANDS.items():
            sub = subparsers.add_parser(
                name,
                help=command.HELP,
                description=command.ABOUT,
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
            command.add_arguments(sub)
            for option, how in _COMMON.items():
                quiet: dict[str, Any] = {"default": argparse.SUPPRESS, "help": argparse.SUPPRESS}
                sub.add_argument(option, **how, **quiet)

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the sub-command."""
        try:
            with explained():
                COMMANDS[options["subcommand"]].run(options, self.stdout, self.stderr)
            self.stdout.flush()
        except BrokenPipeError:
            # Whoever read it has seen enough. Python's own flush at the end would complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(_BROKEN_PIPE)
        except KeyboardInterrupt:
            raise CommandError("Interrupted.", returncode=_INTERRUPTED) from None
