"""To set the mode of many policies at once, each with an entry in its history."""

from typing import TYPE_CHECKING

from django.contrib import admin
from django.db import router, transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from ratelimit_app.models import Policy
from ratelimit_app.signals import one_signal

from .forms import told

if TYPE_CHECKING:
    from .policy import PolicyAdmin


@admin.action(permissions=["change"], description="Enforce the selected policies")
def enforce(page: "PolicyAdmin", request: HttpRequest, queryset: QuerySet[Policy]) -> None:
    _set_mode(page, request, queryset, "enforce")


@admin.action(
    permissions=["change"], description="Shadow the selected policies: count, refuse nobody"
)
def shadow(page: "PolicyAdmin", request: HttpRequest, queryset: QuerySet[Policy]) -> None:
    _set_mode(page, request, queryset, "shadow")


@admin.action(permissions=["change"], description="Switch the selected policies off")
def switch_off(page: "PolicyAdmin", request: HttpRequest, queryset: QuerySet[Policy]) -> None:
    _set_mode(page, request, queryset, "off")


def _set_mode(
    page: "PolicyAdmin", request: HttpRequest, queryset: QuerySet[Policy], mode: str
) -> None:
    chosen = list(queryset.values_list("pk", flat=True))
    using = router.db_for_write(Policy)
    changed = 0
    with transaction.atomic(using=using), one_signal(Policy, using):
        # Locked (where the database can), so that the old value in the history is the true one.
        for policy in Policy.objects.using(using).filter(pk__in=chosen).select_for_update():
            if policy.mode == mode:
                continue
            before, policy.mode = policy.mode, mode
            policy.save(update_fields=["mode"])
            page.log_change(request, policy, told({"mode": (before, mode)}))
            changed += 1
    page.message_user(request, f"{changed} of {len(chosen)} changed to {mode}.")
