# Written by makemigrations.

from decimal import Decimal

import django.core.validators
import django.db.models.expressions
import django.db.models.functions.comparison
import django.db.models.functions.math
import django.db.models.functions.text
import django.db.models.lookups
from django.db import migrations, models

import ratelimit_app.choices
import ratelimit_app.querysets
import ratelimit_app.validators


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Policy",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "slug",
                    models.CharField(
                        error_messages={
                            "unique": "Another policy has this slug: choose another, or edit that one."
                        },
                        help_text="Its name in code, headers, logs and metrics: a-z, 0-9, hyphen and underscore. A new slug starts with fresh buckets, and code that names the old one stops limiting.",
                        max_length=63,
                        unique=True,
                        validators=[ratelimit_app.validators.validate_slug],
                    ),
                ),
                (
                    "description",
                    models.TextField(
                        blank=True,
                        help_text="Why it exists and whom to ask, for whoever is woken by it at night.",
                    ),
                ),
                (
                    "mode",
                    models.CharField(
                        choices=[("enforce", "enforce"), ("shadow", "shadow"), ("off", "off")],
                        default="enforce",
                        error_messages={
                            "invalid_choice": "%(value)r is not known: choose one of enforce, shadow, off."
                        },
                        help_text="Shadow counts and reports what it would refuse, and refuses nobody: try a new limit with it. Off does not even count.",
                        max_length=16,
                    ),
                ),
                (
                    "algorithm",
                    models.CharField(
                        choices=ratelimit_app.choices.algorithm_choices,
                        default="gcra",
                        error_messages={
                            "invalid_choice": "%(value)r is not known: choose one of gcra, or of the others that the admin offers."
                        },
                        help_text="How units are counted. Another algorithm starts with fresh buckets.",
                        max_length=63,
                    ),
                ),
                (
                    "limit",
                    models.PositiveBigIntegerField(
                        help_text="Units in each period; a request costs one unit unless it says otherwise. 0 refuses everything.",
                        validators=[
                            django.core.validators.MinValueValidator(
                                0,
                                message="limit %(show_value)s is below 0: use 0 to refuse everything, or a number above.",
                            )
                        ],
                    ),
                ),
                (
                    "period",
                    models.DecimalField(
                        decimal_places=3,
                        help_text="In seconds: 60 is a minute, 3600 an hour, 86400 a day, 604800 a week.",
                        max_digits=12,
                    ),
                ),
                (
                    "burst",
                    models.PositiveBigIntegerField(
                        blank=True,
                        help_text="How many units fit at once after a quiet time; empty: as many as the limit. Only for gcra, token bucket and leaky bucket.",
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(
                                1,
                                message="burst %(show_value)s is below 1: leave it empty to allow the limit at once.",
                            )
                        ],
                    ),
                ),
                (
                    "key",
                    models.CharField(
                        choices=ratelimit_app.choices.key_choices,
                        default="ip",
                        error_messages={
                            "invalid_choice": "%(value)r is not known: choose one of ip, or of the others that the admin offers."
                        },
                        help_text="Who is counted: each gets a bucket of their own. With user, visitors who are not logged in are not counted.",
                        max_length=16,
                    ),
                ),
                (
                    "key_name",
                    models.CharField(
                        blank=True,
                        help_text="For a header its name, such as X-API-Key. For a function its dotted path, or its name in RATELIMIT['KEYS'].",
                        max_length=255,
                    ),
                ),
                (
                    "path",
                    models.CharField(
                        blank=True,
                        help_text="Where it applies. A path such as /api/*/orders/**: * is one whole segment, ** at the end is the rest. Or a view: name, app:name, or app:* for all views of a namespace. Empty: only where code names the slug.",
                        max_length=500,
                        validators=[ratelimit_app.validators.validate_path],
                    ),
                ),
                (
                    "methods",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="None ticked: all but OPTIONS. GET covers HEAD.",
                        validators=[ratelimit_app.validators.validate_methods],
                    ),
                ),
                (
                    "cost",
                    models.PositiveIntegerField(
                        default=1,
                        help_text="Units that one request takes, unless code says otherwise.",
                        validators=[
                            django.core.validators.MinValueValidator(
                                1,
                                message="cost %(show_value)s is below 1: use 1; to count nothing, set the mode to off.",
                            )
                        ],
                    ),
                ),
                (
                    "on_error",
                    models.CharField(
                        choices=[
                            ("open", "open: let everyone through"),
                            ("closed", "closed: refuse everyone"),
                            ("local", "local: count in each process by itself"),
                        ],
                        default="open",
                        error_messages={
                            "invalid_choice": "%(value)r is not known: choose one of open, closed, local."
                        },
                        help_text="What to do while the store (Redis) does not answer.",
                        max_length=16,
                    ),
                ),
                ("generation", models.PositiveBigIntegerField(default=0, editable=False)),
                (
                    "revision",
                    models.BigIntegerField(
                        default=ratelimit_app.querysets.new_revision,
                        editable=False,
                        serialize=False,
                    ),
                ),
            ],
            options={
                "verbose_name": "policy",
                "verbose_name_plural": "policies",
                "ordering": ["slug"],
                "permissions": [("reset_policy", "Can reset buckets")],
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        django.db.models.functions.text.Lower("slug"),
                        name="ratelimit_policy_slug_unique",
                        violation_error_message="Another policy has this slug: choose another, or edit that one.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("slug", django.db.models.functions.text.Lower("slug"))),
                        name="ratelimit_policy_slug_lower",
                        violation_error_message="The slug must be in lower case.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("mode__in", ["enforce", "shadow", "off"])),
                        name="ratelimit_policy_mode",
                        violation_error_message="Choose one of enforce, shadow, off.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("algorithm", ""), _negated=True),
                        name="ratelimit_policy_algorithm",
                        violation_error_message="Choose an algorithm.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("key", ""), _negated=True),
                        name="ratelimit_policy_key",
                        violation_error_message="Choose who is counted.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("key__in", ("header", "function")),
                                models.Q(("key_name", ""), _negated=True),
                            ),
                            models.Q(
                                models.Q(("key__in", ("header", "function")), _negated=True),
                                ("key_name", ""),
                            ),
                            _connector="OR",
                        ),
                        name="ratelimit_policy_key_name",
                        violation_error_message="The keys header and function need a key name, and the others have none.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("on_error__in", ["open", "closed", "local"])),
                        name="ratelimit_policy_on_error",
                        violation_error_message="Choose one of open, closed, local.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("cost__gte", 1)),
                        name="ratelimit_policy_cost",
                        violation_error_message="The cost must be at least 1.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("limit__gte", 0)),
                        name="ratelimit_policy_limit",
                        violation_error_message="The limit must be 0 (refuse everything) or more.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("period", django.db.models.functions.math.Round("period", 3)),
                            ("period__gt", 0),
                            ("period__lte", Decimal("315360000")),
                        ),
                        name="ratelimit_policy_period",
                        violation_error_message="The period must be from 0.001 to 315360000 seconds, with at most 3 decimal places.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("burst__isnull", True),
                            models.Q(
                                ("burst__gte", 1),
                                models.Q(
                                    (
                                        "algorithm__in",
                                        (
                                            "fixed_window",
                                            "sliding_window_counter",
                                            "sliding_window_log",
                                        ),
                                    ),
                                    _negated=True,
                                ),
                            ),
                            _connector="OR",
                        ),
                        name="ratelimit_policy_burst",
                        violation_error_message="A burst must be at least 1, and only the three buckets have one.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "limit__lte",
                                django.db.models.expressions.CombinedExpression(
                                    django.db.models.functions.comparison.Coalesce(
                                        "burst", "limit"
                                    ),
                                    "*",
                                    django.db.models.functions.math.Round(
                                        django.db.models.expressions.CombinedExpression(
                                            models.F("period"), "*", models.Value(1000)
                                        )
                                    ),
                                ),
                            )
                        ),
                        name="ratelimit_policy_burst_refill",
                        violation_error_message="The burst is so small that one millisecond would overfill it: raise it or empty it.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            django.db.models.lookups.LessThan(
                                django.db.models.expressions.CombinedExpression(
                                    models.F("limit"),
                                    "*",
                                    django.db.models.functions.math.Round(
                                        django.db.models.expressions.CombinedExpression(
                                            models.F("period"), "*", models.Value(1000)
                                        )
                                    ),
                                ),
                                9007199254740992,
                            ),
                            django.db.models.lookups.LessThan(
                                django.db.models.expressions.CombinedExpression(
                                    django.db.models.functions.comparison.Coalesce(
                                        "burst", "limit"
                                    ),
                                    "*",
                                    django.db.models.functions.math.Round(
                                        django.db.models.expressions.CombinedExpression(
                                            models.F("period"), "*", models.Value(1000)
                                        )
                                    ),
                                ),
                                9007199254740992,
                            ),
                        ),
                        name="ratelimit_policy_exact",
                        violation_error_message="Too large to be counted exactly: limit (and burst) times the period in milliseconds must stay below 2**53. Lower the limit or shorten the period.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("algorithm", "sliding_window_log"), _negated=True),
                            ("limit__lte", 1000000),
                            _connector="OR",
                        ),
                        name="ratelimit_policy_log_size",
                        violation_error_message="sliding_window_log remembers at most 1000000 units: lower the limit, or choose sliding_window_counter.",
                    ),
                ],
            },
            managers=[
                ("objects", ratelimit_app.querysets.PolicyManager()),
            ],
        ),
    ]
