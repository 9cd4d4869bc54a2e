"""`manage.py ratelimit list`: all policies, one a line."""

from typing import Any

from django.core.management.base import CommandParser, OutputWrapper

from ratelimit_app import refresh
from ratelimit_app.policies import CompiledPolicy

from .base import MIGRATE, table_fault
from .words import key_words, limit_words, table, where_words

HELP = "List all policies, one a line."
ABOUT = """
Lists all policies, one a line: how they count, how much they allow, whom they count, where they
apply, and what they do while the store does not answer. While there is no table (before the first
migrate) these are the policies of RATELIMIT['POLICIES'].

  manage.py ratelimit list
"""

_HEADING = ("slug", "mode", "algorithm", "limit", "key", "where", "on_error")


def add_arguments(_parser: CommandParser) -> None:
    """See `SubCommand.add_arguments`."""


def run(_options: dict[str, Any], out: OutputWrapper, _err: OutputWrapper) -> None:
    """See `SubCommand.run`."""
    policies = refresh.keeper.current().by_slug
    reason = table_fault()
    if policies:
        out.write(table([_HEADING, *(_row(policies[slug]) for slug in sorted(policies))]))
    elif reason is None:
        out.write("There are no policies. Add one in the admin.")
    else:
        out.write("There are no policies in RATELIMIT['POLICIES'].")
    if reason is not None:
        out.write(
            f"The table cannot be read ({reason}), so the policies of RATELIMIT['POLICIES'] count. "
            f"To use the table, {MIGRATE}."
        )


def _row(policy: CompiledPolicy) -> tuple[str, ...]:
    return (
        policy.slug,
        policy.mode,
        policy.quota.algorithm,
        limit_words(policy.quota.limit),
        key_words(policy),
        where_words(policy),
        policy.on_error,
    )
