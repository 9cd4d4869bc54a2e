"""What the database itself refuses, whoever writes: also raw SQL, `update()` and `loaddata`.

`validators` says the same with the value and the fix; these are the last line.
"""

from django.db.models import CheckConstraint, F, Q, UniqueConstraint
from django.db.models.functions import Coalesce, Lower, Round
from django.db.models.lookups import LessThan

from ratelimit_app.algorithms import EXACT, sliding_window_log
from ratelimit_app.choices import MODES, ON_ERROR
from ratelimit_app.numbers import LONGEST
from ratelimit_app.validators import NAMED_KEYS

# Written out, and the windows rather than the buckets: a new algorithm needs no migration.
_WINDOWS = ("fixed_window", "sliding_window_counter", "sliding_window_log")

# SQLite keeps a period as a double: rounding makes whole milliseconds of it again. The product is
# then numeric on PostgreSQL and a double on SQLite, so that no 64-bit number overflows.
_MILLISECONDS = Round(F("period") * 1000)
_CAPACITY = Coalesce("burst", "limit")


def _check(name: str, condition: Q, message: str) -> CheckConstraint:
    return CheckConstraint(
        name=f"ratelimit_policy_{name}", condition=condition, violation_error_message=message
    )


CONSTRAINTS = [
    UniqueConstraint(
        Lower("slug"),
        name="ratelimit_policy_slug_unique",
        violation_error_message="Another policy has this slug: choose another, or edit that one.",
    ),
    _check("slug_lower", Q(slug=Lower("slug")), "The slug must be in lower case."),
    _check("mode", Q(mode__in=list(MODES)), f"Choose one of {', '.join(MODES)}."),
    _check("algorithm", ~Q(algorithm=""), "Choose an algorithm."),
    # No list of the kinds: a new one must need no migration. A row of an unknown kind is left out.
    _check("key", ~Q(key=""), "Choose who is counted."),
    _check(
        "key_name",
        Q(key__in=NAMED_KEYS) & ~Q(key_name="") | ~Q(key__in=NAMED_KEYS) & Q(key_name=""),
        "The keys header and function need a key name, and the others have none.",
    ),
    _check("on_error", Q(on_error__in=list(ON_ERROR)), f"Choose one of {', '.join(ON_ERROR)}."),
    _check("cost", Q(cost__gte=1), "The cost must be at least 1."),
    _check("limit", Q(limit__gte=0), "The limit must be 0 (refuse everything) or more."),
    _check(
        "period",
        Q(period__gt=0, period__lte=LONGEST, period=Round("period", 3)),
        f"The period must be from 0.001 to {LONGEST} seconds, with at most 3 decimal places.",
    ),
    _check(
        "burst",
        Q(burst__isnull=True) | Q(burst__gte=1) & ~Q(algorithm__in=_WINDOWS),
        "A burst must be at least 1, and only the three buckets have one.",
    ),
    _check(
        "burst_refill",
        Q(limit__lte=_CAPACITY * _MILLISECONDS),
        "The burst is so small that one millisecond would overfill it: raise it or empty it.",
    ),
    _check(
        "exact",
        Q(LessThan(F("limit") * _MILLISECONDS, EXACT))
        & Q(LessThan(_CAPACITY * _MILLISECONDS, EXACT)),
        "Too large to be counted exactly: limit (and burst) times the period in milliseconds must "
        "stay below 2**53. Lower the limit or shorten the period.",
    ),
    _check(
        "lease",
        Q(lease__isnull=True) | Q(lease=1) | Q(lease__gt=1) & ~Q(algorithm="sliding_window_log"),
        "A lease must be at least 1, and sliding_window_log has no other.",
    ),
    _check(
        "log_size",
        ~Q(algorithm="sliding_window_log") | Q(limit__lte=sliding_window_log.MOST),
        f"sliding_window_log remembers at most {sliding_window_log.MOST} units: lower the limit, "
        "or choose sliding_window_counter.",
    ),
]
