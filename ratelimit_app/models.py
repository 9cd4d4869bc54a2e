"""The one table: a row is a policy, edited in the admin and obeyed by every process."""

from collections.abc import Collection, Iterable, Iterator
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.signals import post_delete, post_save

from ratelimit_app.choices import KEYS, MODES, ON_ERROR, algorithm_choices, in_words, key_choices
from ratelimit_app.conf import SettingError, conf
from ratelimit_app.constraints import CONSTRAINTS
from ratelimit_app.numbers import BELOW, lease_problem, least, number_problems
from ratelimit_app.querysets import PolicyManager, new_revision
from ratelimit_app.signals import announce
from ratelimit_app.validators import (
    key_problem,
    validate_methods,
    validate_path,
    validate_slug,
)


def _one_of(names: Iterable[str]) -> dict[str, str]:
    return {"invalid_choice": f"%(value)r is not known: choose one of {', '.join(names)}."}


class Policy(models.Model):
    """How much who may do where, and what happens when it is too much."""

    slug = models.CharField(
        max_length=63,
        # As well as the constraint: an upsert by slug needs an index on the column itself.
        unique=True,
        validators=[validate_slug],
        error_messages={
            "unique": "Another policy has this slug: choose another, or edit that one."
        },
        help_text="Its name in code, headers, logs and metrics: a-z, 0-9, hyphen and underscore. "
        "A new slug starts with fresh buckets, and code that names the old one stops limiting.",
    )
    description = models.TextField(
        blank=True, help_text="Why it exists and whom to ask, for whoever is woken by it at night."
    )
    mode = models.CharField(
        max_length=16,
        choices=MODES,
        error_messages=_one_of(MODES),
        default="enforce",
        help_text="Shadow counts and reports what it would refuse, and refuses nobody: try a new "
        "limit with it. Off does not even count.",
    )
    algorithm = models.CharField(
        max_length=63,
        choices=algorithm_choices,
        error_messages=_one_of(["gcra, or of the others that the admin offers"]),
        default="gcra",
        help_text="How units are counted. Another algorithm starts with fresh buckets.",
    )
    limit = models.PositiveBigIntegerField(
        validators=[least("limit")],
        help_text="Units in each period; a request costs one unit unless it says otherwise. "
        "0 refuses everything.",
    )
    period = models.DecimalField(
        max_digits=12,
        decimal_places=3,
        help_text="In seconds: 60 is a minute, 3600 an hour, 86400 a day, 604800 a week.",
    )
    burst = models.PositiveBigIntegerField(
        null=True,
        blank=True,
        validators=[least("burst")],
        help_text="How many units fit at once after a quiet time; empty: as many as the limit. "
        "Only for gcra, token bucket and leaky bucket.",
    )
    key = models.CharField(
        max_length=16,
        choices=key_choices,
        error_messages=_one_of(["ip, or of the others that the admin offers"]),
        default="ip",
        help_text="Who is counted: each gets a bucket of their own. With user, visitors who are "
        "not logged in are not counted.",
    )
    key_name = models.CharField(
        max_length=255,
        blank=True,
        help_text="For a header its name, such as X-API-Key. For a function its dotted path, or "
        "its name in RATELIMIT['KEYS'].",
    )
    path = models.CharField(
        max_length=500,
        blank=True,
        validators=[validate_path],
        help_text="Where it applies. A path such as /api/*/orders/**: * is one whole segment, ** "
        "at the end is the rest. Or a view: name, app:name, or app:* for all views of a "
        "namespace. Empty: only where code names the slug.",
    )
    methods = models.JSONField(
        default=list,
        blank=True,
        validators=[validate_methods],
        help_text="None ticked: all but OPTIONS. GET covers HEAD.",
    )
    cost = models.PositiveIntegerField(
        default=1,
        validators=[least("cost")],
        help_text="Units that one request takes, unless code says otherwise.",
    )
    on_error = models.CharField(
        max_length=16,
        choices=ON_ERROR,
        error_messages=_one_of(ON_ERROR),
        default="open",
        help_text="What to do while the store (Redis) does not answer.",
    )
    ask_always = models.BooleanField(
        default=False,
        # Also in the database, for those who write by SQL and for workers of an older release.
        db_default=False,
        help_text="Ask the store about every request, also of a client whom it has just refused. "
        "Unticked: such a client is refused without asking until its wait is over, or for a "
        "second, and Redis is left in peace.",
    )
    lease = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[least("lease")],
        help_text="Units that a process takes from Redis at once, and then spends by itself: fewer "
        "trips for a busy key. In any period each process may then admit so many more or fewer "
        "than the exact count: the error is up to the number of processes times the lease. 1: "
        "exact, a trip for each request. Empty: chosen by RATELIMIT['LEASE_ERROR'], and 1 while "
        "that is not set.",
    )
    #: Part of the key of every bucket: raising it makes all buckets of the policy fresh at once.
    generation = models.PositiveBigIntegerField(default=0, editable=False)
    #: Set anew by every write. Their count and sum are the fingerprint of the table, and an editor
    #: who comes back with an old one is told. Left out of fixtures, so that loading sets it too.
    revision = models.BigIntegerField(default=new_revision, editable=False, serialize=False)

    objects = PolicyManager()

    class Meta:
        ordering = ["slug"]
        verbose_name = "policy"
        verbose_name_plural = "policies"
        permissions = [("reset_policy", "Can reset buckets")]
        base_manager_name = "objects"  # So that no way to write goes around the signal.
        constraints = CONSTRAINTS

    def __str__(self) -> str:
        return self.slug

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.revision = new_revision()
        if kwargs.get("update_fields"):
            kwargs["update_fields"] = {*kwargs["update_fields"], "revision"}
        super().save(*args, **kwargs)

    def natural_key(self) -> tuple[str]:
        return (self.slug,)

    @property
    def rate_in_words(self) -> str:
        """Such as "100 per minute, bursts of 20"."""
        if self.limit == 0:
            return "nothing: all refused"
        burst = "" if self.burst is None else f", bursts of {self.burst}"
        return f"{self.limit} per {in_words(Decimal(self.period))}{burst}"

    def clean(self) -> None:
        """Fold the slug, and refuse what cannot work; each complaint stands at its field."""
        if isinstance(self.slug, str):
            self.slug = self.slug.lower()
        found: dict[str, list[str]] = {}
        for name, problem in self._problems():
            found.setdefault(name, []).append(problem)
        if found:
            raise ValidationError(found)

    def validate_constraints(self, exclude: Collection[str] | None = None) -> None:
        """Without those of the slug: it is folded, so its field says the same, and in its place."""
        super().validate_constraints(exclude={*(exclude or ()), "slug"})

    def _problems(self) -> Iterator[tuple[str, str]]:
        # What a field has refused already may be of any type; it has its complaint.
        numbers: list[object] = [self.limit, self.cost, self.burst or 0]
        given: object = self.period
        whole = all(isinstance(each, int) for each in numbers)
        if isinstance(given, Decimal) and given.is_finite() and whole:
            found = number_problems(self.algorithm, self.limit, given, self.burst, self.cost)
            # Of a number that is too low its field has told already.
            low = [BELOW[name] % {"show_value": getattr(self, name)} for name in BELOW]
            yield from ((name, problem) for name, problem in found if problem not in low)
        lease = self.lease if isinstance(self.lease, int) and self.lease >= 1 else None
        if problem := lease_problem(self.algorithm, lease):
            yield "lease", problem
        kind: object = self.key
        if isinstance(kind, str) and kind in KEYS and isinstance(self.key_name, str):
            try:
                names = conf().keys
            except SettingError:
                names = {}
            problem = key_problem(kind, self.key_name, names)
            if problem:
                yield "key_name", problem


def _written(sender: type[Policy], using: str, **kwargs: object) -> None:
    announce(sender, using)


# Of save(), delete() and loaddata; whole querysets announce themselves.
post_save.connect(_written, sender=Policy)
post_delete.connect(_written, sender=Policy)
