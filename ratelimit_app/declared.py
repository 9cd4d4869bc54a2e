"""Policies that are declared in settings or in code, held to the same rules as the table."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError

from ratelimit_app.models import Policy


def unsaved_policy(values: Mapping[str, Any]) -> Policy:
    """A policy that is never saved; it asks no database.

    Raises `ValidationError`, whose messages name the values and the fix.
    """
    given = dict(values)
    names = {field.name for field in Policy._meta.fields if field.editable and field.name != "id"}
    unknown = sorted(set(given) - names)
    if unknown:
        raise ValidationError(f"A policy has no {unknown[0]!r}; it has {', '.join(sorted(names))}.")
    for name in ("limit", "burst", "cost", "lease"):
        number = given.get(name)
        if number is not None and (isinstance(number, bool) or not isinstance(number, int)):
            raise ValidationError({name: f"{name} {number!r} must be a whole number."})
    if isinstance(given.get("period"), float):
        # The digits as written: 0.1, and not the double next to it.
        given["period"] = Decimal(str(given["period"]))
    policy = Policy(**given)
    policy.full_clean(validate_unique=False, validate_constraints=False)
    return policy
