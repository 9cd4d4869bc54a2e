"""`manage.py ratelimit show`: one policy in words, and one of its buckets."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandParser, OutputWrapper

from ratelimit_app import limiter, stores
from ratelimit_app.choices import KEYS, ON_ERROR
from ratelimit_app.conf import conf
from ratelimit_app.models import Policy
from ratelimit_app.policies import CompiledPolicy
from ratelimit_app.sources import alias
from ratelimit_app.stores import Unavailable

from .base import DATABASE_FAULTS, is_shared, key_of, policy_of, remark
from .words import key_kind, key_words, left_words, limit_words, seconds, shown

HELP = "Show one policy in words, and what is left in a bucket."
ABOUT = """
Shows every field of a policy in words. With --key it also shows the bucket of that client: how
many units are left, and in how many seconds it is as if never used. Looking spends nothing.

  manage.py ratelimit show login
  manage.py ratelimit show login --key 192.0.2.7
"""

_MODES = {
    "enforce": "enforce (refuses what is too much)",
    "shadow": "shadow (counts, and refuses nobody)",
    "off": "off (does not even count)",
}
_ASKED = {
    True: "yes: the store is asked about every request",
    False: "no: who was just refused is refused without asking, for a second at most",
}


def add_arguments(parser: CommandParser) -> None:
    """See `SubCommand.add_arguments`."""
    parser.add_argument("slug", metavar="SLUG", help="the policy's slug, as in the list")
    parser.add_argument(
        "--key",
        help="who is counted, as the policy counts: an address, the primary key of a user, …",
    )


def run(options: dict[str, Any], out: OutputWrapper, err: OutputWrapper) -> None:
    """See `SubCommand.run`."""
    policy = policy_of(options["slug"])
    lines = _fields(policy)
    if options["key"] is not None:
        lines += _bucket(policy, key_of(policy, options["key"]), err)
    width = max(len(name) for name, _ in lines) + 1
    out.write("\n".join(f"{name + ':':{width}} {value}" for name, value in lines))


def _fields(policy: CompiledPolicy) -> list[tuple[str, str]]:
    limit = policy.quota.limit
    return [
        ("slug", policy.slug),
        ("description", _description(policy.slug) or "none"),
        ("mode", _MODES.get(policy.mode, policy.mode)),
        ("algorithm", policy.quota.algorithm.replace("_", " ")),
        ("limit", limit_words(limit)),
        ("capacity", f"{limit.burst} at once after a quiet time"),
        ("period", seconds(limit.period / 1000)),
        ("key", f"{key_words(policy)} ({KEYS[key_kind(policy)]})"),
        ("where", policy.path or "only where code names it"),
        ("methods", ", ".join(sorted(policy.methods)) or "all but OPTIONS"),
        ("cost", f"{policy.cost} a request, unless code says otherwise"),
        ("on_error", ON_ERROR.get(policy.on_error, policy.on_error)),
        ("ask_always", _ASKED[policy.quota.ask_always]),
        ("lease", _lease_words(policy.quota.lease)),
    ]


def _lease_words(lease: int) -> str:
    if lease == 1:
        return "1: exact, a trip for each request"
    return f"{lease}: within {lease} of the exact count for each process"


def _description(slug: str) -> str:
    """The only field that no process needs, so that no snapshot has it."""
    try:
        found = (
            Policy.objects.using(alias()).filter(slug=slug).values_list("description", flat=True)
        )
        return " ".join(str(found.first() or "").split())
    except (*DATABASE_FAULTS, ImproperlyConfigured):
        return ""


def _bucket(policy: CompiledPolicy, key: str, err: OutputWrapper) -> list[tuple[str, str]]:
    name = f"bucket of {shown(key)}" if key else "bucket"
    if not conf().enabled:
        return [(name, "not used: RATELIMIT['ENABLED'] is False")]
    if policy.mode == "off":
        return [(name, "not used: the policy is off")]
    if not is_shared():
        remark(err, "The buckets are in the memory of each process; this one is of this process.")
    decision = limiter.peek(policy.slug, key=key, cost=0)
    if decision.source not in ("policy", stores.current().name):
        raise Unavailable("the log says why")
    reset = decision.reset_after
    return [
        (name, f"{left_words(decision)} left"),
        ("as fresh", f"in {seconds(reset)}" if reset else "now: nothing is spent"),
    ]
