"""`manage.py ratelimit reset`: makes one bucket of a policy fresh, or all of them."""

from typing import Any

from django.core.management.base import CommandError, CommandParser, OutputWrapper
from django.db.models import F

from ratelimit_app import limiter
from ratelimit_app.models import Policy
from ratelimit_app.sources import alias

from .base import is_shared, key_of, policy_of, remark
from .words import shown

HELP = "Make one bucket of a policy fresh, or all of them."
ABOUT = """
Forgets what was spent: of one client with --key, or of everybody with --all. The policy itself
stays as it is.

  manage.py ratelimit reset login --key 192.0.2.7
  manage.py ratelimit reset login --all
"""


def add_arguments(parser: CommandParser) -> None:
    """See `SubCommand.add_arguments`."""
    parser.add_argument("slug", metavar="SLUG", help="the policy's slug, as in the list")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--key",
        help="whose bucket, as the policy counts: an address, the primary key of a user, …",
    )
    which.add_argument("--all", action="store_true", help="the buckets of everybody")


def run(options: dict[str, Any], out: OutputWrapper, err: OutputWrapper) -> None:
    """See `SubCommand.run`."""
    slug, key = options["slug"], options["key"]
    if options["all"]:
        _reset_all(slug)
        out.write(f"All buckets of policy {slug!r} are fresh; every process obeys within a second.")
        return
    policy = policy_of(slug)
    if key is None and policy.key.needs_value:
        raise CommandError(
            f"Say which buckets of {slug!r}: --key with a client, or --all for everybody."
        )
    key = key_of(policy, key)
    if not is_shared():
        remark(
            err,
            "The buckets are in the memory of each process, and only this process's was reset. "
            f"For all processes: manage.py ratelimit reset {slug} --all",
        )
    limiter.reset(slug, key=key)
    out.write(f"The bucket of {shown(key)} is fresh." if key else "The bucket is fresh.")


def _reset_all(slug: str) -> None:
    """The generation is part of every bucket's key; raising it is an edit, which all obey."""
    found = Policy.objects.using(alias()).filter(slug=slug)
    if found.update(generation=F("generation") + 1):
        return
    policy_of(slug)
    raise CommandError(
        f"Policy {slug!r} is not in the table, and only those in it can be reset at once. Reset "
        "one client with --key, or add the policy in the admin."
    )
