"""`manage.py ratelimit replay`: what a policy would have done to yesterday's requests."""

import argparse
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import CommandError, CommandParser, OutputWrapper

from ratelimit_app import traces
from ratelimit_app.algorithms import ALGORITHMS
from ratelimit_app.numbers import number_problems
from ratelimit_app.policies import CompiledPolicy, compiled
from ratelimit_app.sources import DEFAULTS

from .base import policy_of, remark
from .replay_output import OUTPUTS, Progress
from .replay_run import STORES, replayed

HELP = "Say what a policy would have done to the requests of a log."
ABOUT = """
Runs the requests of a log against a policy and says how many it would have let through. The clock
is the log's own, so a month takes seconds. No policy, and no bucket of the site, is touched.

TRACE is an access log (common or combined format; each client address is counted by itself, and a
request costs 1), or JSON lines such as {"t": 1772359200.25, "key": "tenant:42", "cost": 3} with t
in seconds. Either may be gzipped, and need not be in order. - is standard input.

Try a policy as it is (also one that is off or in shadow), or numbers before they become one:

  manage.py ratelimit replay access.log --policy login
  manage.py ratelimit replay access.log.gz --algorithm gcra --limit 10 --period 60 --burst 20
  zcat access.log.*.gz | manage.py ratelimit replay - --policy login --output jsonl

--output jsonl prints one line a request, with times in seconds from that request on, and
retry_after null where the cost can never fit:
  {"t": 1772359200, "key": "192.0.2.7", "allowed": false, "limit": 10, "remaining": 0,
   "retry_after": 5.5, "reset_after": 59.5}
"""

#: How many unreadable lines are named.
_NAMED = 10


def add_arguments(parser: CommandParser) -> None:
    """See `SubCommand.add_arguments`."""
    parser.add_argument("trace", metavar="TRACE", help="the log, or - for standard input")
    parser.add_argument("--policy", metavar="SLUG", help="use the numbers of this policy")
    parser.add_argument("--algorithm", choices=list(ALGORITHMS), help="or these: how to count")
    parser.add_argument("--limit", type=int, metavar="N", help="how many units in each period")
    parser.add_argument("--period", type=_decimal, metavar="SECONDS", help="the period, in seconds")
    parser.add_argument(
        "--burst",
        type=int,
        metavar="N",
        help="how many at once after a quiet time (as many as the limit); buckets and gcra only",
    )
    parser.add_argument(
        "--store",
        choices=list(STORES),
        default="memory",
        help="memory, or redis for the real script on the Redis of RATELIMIT['CACHE'], in keys of "
        "its own that are deleted at the end (memory)",
    )
    parser.add_argument(
        "--output", choices=list(OUTPUTS), default="summary", help="what to print (summary)"
    )


def run(options: dict[str, Any], out: OutputWrapper, err: OutputWrapper) -> None:
    """See `SubCommand.run`."""
    policy = _policy(options)
    trace = _trace(options["trace"])
    _name_skipped(trace, err)
    if not trace.hits:
        raise CommandError(
            f"Nothing could be read in {options['trace']!r}: give an access log in common or "
            'combined format, or JSON lines such as {"t": 1772359200, "key": "a"}.'
        )
    output = OUTPUTS[options["output"]](out)
    # Lines on the same terminal are progress enough.
    scrolls = options["output"] == "jsonl" and out.isatty()
    progress = Progress(err, len(trace.hits), wanted=err.isatty() and not scrolls)
    with STORES[options["store"]]() as batch, progress:
        for hit, decision in replayed(trace.hits, policy, batch):
            output.add(hit, decision)
            progress.step()
    output.end(policy, options["store"])


def _policy(options: dict[str, Any]) -> CompiledPolicy:
    """The policy with the numbers to try; its mode does not matter."""
    slug = options["policy"]
    numbers = {name: options[name] for name in ("algorithm", "limit", "period", "burst")}
    given = [f"--{name}" for name, value in numbers.items() if value is not None]
    if slug is not None:
        if given:
            raise CommandError(f"--policy has its own numbers: leave out {', '.join(given)}.")
        policy = policy_of(slug)
        return replace(policy, quota=replace(policy.quota, shadow=False))
    missing = [f"--{name}" for name, value in numbers.items() if value is None and name != "burst"]
    if missing:
        raise CommandError(
            f"Say what to try: {', '.join(missing)} missing. Use --policy SLUG, or for example "
            "--algorithm gcra --limit 10 --period 60."
        )
    period = numbers["period"]
    problems = [
        f"--{problem}"
        for _, problem in number_problems(
            numbers["algorithm"], numbers["limit"], period, numbers["burst"]
        )
    ]
    if period != period.quantize(Decimal("0.001")):
        problems.append(f"--period {period} is finer than a millisecond: give at most 3 decimals.")
    if problems:
        raise CommandError("\n".join(problems))
    return compiled({**DEFAULTS, **numbers, "slug": "replay", "key_name": ""}, origin="replay")


def _trace(path: str) -> traces.Trace:
    try:
        with traces.open_trace(path) as source:
            return traces.read(source)
    except OSError as error:
        raise CommandError(
            f"{path!r} cannot be read ({error.strerror or error}): give the path of a log, or - "
            "for standard input."
        ) from error


def _name_skipped(trace: traces.Trace, err: OutputWrapper) -> None:
    for skipped in trace.skipped[:_NAMED]:
        remark(err, f"line {skipped.line}: {skipped.reason}")
    if trace.skipped:
        count = len(trace.skipped) + trace.unlisted
        more = count - _NAMED
        named = f", of which {_NAMED} are named above" if more > 0 else ""
        remark(err, f"{count} lines could not be read{named}.")


def _decimal(text: str) -> Decimal:
    """A number of seconds, for argparse: no infinity, and no exponent of a million digits."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds") from None
    if not value.is_finite() or abs(value.adjusted()) > 18:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds that could be waited")
    return value
