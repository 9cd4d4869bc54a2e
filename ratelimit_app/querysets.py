"""Every way to write policies in bulk: new revisions for the rows, and one signal a call."""

import secrets
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from django.db import models

from ratelimit_app.signals import announce, one_signal

if TYPE_CHECKING:
    from ratelimit_app.models import Policy


def new_revision() -> int:
    """40 bits, so that a sum over any table stays a 64-bit number.

    From the system's randomness: processes that were forked would draw the same from `random`.
    """
    return secrets.randbits(40)


class PolicyQuerySet(models.QuerySet["Policy"]):
    """Django's own, except that no write escapes notice; the async twins call these."""

    def _written(self) -> str:
        """The alias that a write goes to; a router may name another one for reading."""
        self._for_write = True
        return self.db

    def update(self, **kwargs: Any) -> int:
        kwargs.setdefault("revision", new_revision())
        rows = super().update(**kwargs)
        announce(self.model, self._written())
        return rows

    update.alters_data = True  # type: ignore[attr-defined]

    def bulk_create(
        self,
        objs: Iterable["Policy"],
        batch_size: int | None = None,
        ignore_conflicts: bool = False,
        update_conflicts: bool = False,
        update_fields: Collection[str] | None = None,
        unique_fields: Collection[str] | None = None,
    ) -> list["Policy"]:
        objs = _renewed(objs)
        if update_conflicts and update_fields is not None:
            update_fields = list(dict.fromkeys([*update_fields, "revision"]))
        with one_signal(self.model, self._written()):
            return super().bulk_create(
                objs, batch_size, ignore_conflicts, update_conflicts, update_fields, unique_fields
            )

    bulk_create.alters_data = True  # type: ignore[attr-defined]

    def bulk_update(
        self, objs: Iterable["Policy"], fields: Iterable[str], batch_size: int | None = None
    ) -> int:
        fields = list(fields)
        if fields:
            fields = list(dict.fromkeys([*fields, "revision"]))
        with one_signal(self.model, self._written()):
            return super().bulk_update(_renewed(objs), fields, batch_size)

    bulk_update.alters_data = True  # type: ignore[attr-defined]

    def delete(self) -> tuple[int, dict[str, int]]:
        with one_signal(self.model, self._written()):
            return super().delete()

    delete.alters_data = True  # type: ignore[attr-defined]
    # Not on the manager: Policy.objects.delete() would be too easy a slip.
    delete.queryset_only = True  # type: ignore[attr-defined]


class PolicyManager(models.Manager.from_queryset(PolicyQuerySet)):  # type: ignore[misc]
    """Also in migrations, so that a data migration is noticed as well."""

    use_in_migrations = True

    def get_by_natural_key(self, slug: str) -> "Policy":
        policy: Policy = self.get(slug=slug)
        return policy


def _renewed(objs: Iterable["Policy"]) -> Sequence["Policy"]:
    policies = list(objs)
    for policy in policies:
        policy.revision = new_revision()
    return policies
