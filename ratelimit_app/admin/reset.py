"""The page that makes buckets fresh: of one key, or of everyone under a policy."""

from typing import TYPE_CHECKING

from django import forms
from django.contrib import messages
from django.db.models import F
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.template.response import TemplateResponse
from django.urls import reverse

from ratelimit_app import limiter, stores
from ratelimit_app.addresses import parse
from ratelimit_app.conf import SettingError
from ratelimit_app.keys import KEYS
from ratelimit_app.models import Policy
from ratelimit_app.stores import Unavailable
from ratelimit_app.stores.memory import MemoryStore

if TYPE_CHECKING:
    from .policy import PolicyAdmin


_ONLY_HERE = (
    "The buckets are in the memory of each process, and only those of the process that answered "
    "you were reset. To reset them everywhere, leave the key empty."
)


class ResetForm(forms.Form):
    # Blanks may be part of a header's value, and an empty key means everybody.
    key = forms.CharField(required=False, max_length=1000, strip=False)

    def __init__(self, policy: Policy, data: QueryDict | None = None) -> None:
        super().__init__(data)
        kind = KEYS[policy.key]
        if not kind.needs_value:
            del self.fields["key"]
        else:
            self.fields["key"].label = kind.asked
            self.fields["key"].help_text = "Empty: the buckets of everyone."
        self._kind = policy.key

    def clean_key(self) -> str:
        key = str(self.cleaned_data["key"])
        if key and not key.strip():
            raise forms.ValidationError("Blanks say of nobody who they are. Empty means everyone.")
        if self._kind == "ip" and key and parse(key) is None:
            raise forms.ValidationError(f"{key!r} is no address: give one such as 192.0.2.7.")
        return key


def reset_page(page: "PolicyAdmin", request: HttpRequest, policy: Policy) -> HttpResponse:
    form = ResetForm(policy, request.POST if request.method == "POST" else None)
    if form.is_valid():
        key = form.cleaned_data.get("key", "")
        problem = _reset_one(policy, key) if key else _reset_all(policy)
        if problem is None:
            done = f"Reset the bucket of {_shown(policy, key)}." if key else "Reset all buckets."
            page.log_change(request, policy, done)
            page.message_user(request, f"{policy.slug}: {done}", messages.SUCCESS)
            if key and isinstance(stores.current(), MemoryStore):
                page.message_user(request, _ONLY_HERE, messages.WARNING)
            return HttpResponseRedirect(_next(page, request, policy))
        page.message_user(request, problem, messages.ERROR)
    request.current_app = page.admin_site.name
    context = {
        **page.admin_site.each_context(request),
        "title": f"Reset {policy.slug}",
        "opts": page.opts,
        "policy": policy,
        "form": form,
        "back": _next(page, request, policy),
    }
    return TemplateResponse(request, "admin/ratelimit_app/policy/reset.html", context)


def _reset_one(policy: Policy, key: str) -> str | None:
    """Returns why it failed."""
    try:
        limiter.reset(policy.slug, key=key)
    except limiter.UnknownPolicy as error:
        return f"{error} A policy that was made just now is known within a second: try again."
    except (ValueError, SettingError) as error:
        return str(error)
    except Unavailable as error:
        return f"The store did not answer ({error}): nothing may have been reset. Try again."
    return None


def _reset_all(policy: Policy) -> str | None:
    """A new generation: the buckets of the old one are never asked again, and expire."""
    rows = Policy.objects.filter(pk=policy.pk).update(generation=F("generation") + 1)
    return None if rows else f"{policy.slug!r} was deleted meanwhile."


def _shown(policy: Policy, key: str) -> str:
    """The history must not give a secret away."""
    return "one key" if KEYS[policy.key].secret else key


def _next(page: "PolicyAdmin", request: HttpRequest, policy: Policy) -> str:
    """Back to the policy, or to where somebody may be who can only reset."""
    site = page.admin_site.name
    if page.has_view_or_change_permission(request, policy):
        return reverse("admin:ratelimit_app_policy_change", args=[policy.pk], current_app=site)
    return reverse("admin:index", current_app=site)
