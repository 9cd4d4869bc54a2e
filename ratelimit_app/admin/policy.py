"""The pages of policies."""

from typing import TYPE_CHECKING, Any, TypeAlias

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import unquote
from django.core.exceptions import BadRequest, PermissionDenied
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
)
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

from ratelimit_app.doctor import examine
from ratelimit_app.models import Policy
from ratelimit_app.whoami import seen

from .actions import enforce, shadow, switch_off
from .forms import (
    GuardedForm,
    ModelForm,
    PolicyForm,
    PolicyFormSet,
    Stale,
    save_changes,
    told,
)
from .reset import reset_page

# Django's admin is generic for the type checker alone.
if TYPE_CHECKING:
    ModelAdmin: TypeAlias = admin.ModelAdmin[Policy]
else:
    ModelAdmin = admin.ModelAdmin

_STALE = (
    "Somebody else changed the same policy at the same moment. Nothing of yours is saved: look at "
    "it as it is now, and change it again if need be."
)


@admin.register(Policy)
class PolicyAdmin(ModelAdmin):
    """See the package."""

    form = PolicyForm
    list_display = ("slug", "mode", "limit", "period", "rate", "algorithm", "who", "where")
    list_editable = ("mode", "limit", "period")
    list_filter = ("mode", "algorithm", "key", "on_error")
    search_fields = ("slug", "description", "path", "key_name")
    actions = (enforce, shadow, switch_off)
    radio_fields = {"algorithm": admin.VERTICAL}
    save_on_top = True

    class Media:
        css = {"all": ["ratelimit_app/admin.css"]}

    fieldsets = (
        (None, {"fields": ("slug", "description", "mode")}),
        (
            "How much",
            {
                "fields": ("limit", "period", "burst", "algorithm", "cost"),
                "description": "At most so many units in each period. An edit is obeyed by every "
                "process within a second, and what was spent stays spent.",
            },
        ),
        (
            "Who",
            {
                "fields": ("key", "key_name"),
                "description": "Each of them gets a bucket of their own.",
            },
        ),
        ("Where", {"fields": ("path", "methods")}),
        ("The store", {"fields": ("on_error", "ask_always", "lease")}),
    )

    @admin.display(description="rate")
    def rate(self, policy: Policy) -> str:
        return policy.rate_in_words

    @admin.display(description="who is counted", ordering="key")
    def who(self, policy: Policy) -> str:
        return f"{policy.get_key_display()} {policy.key_name}".rstrip()

    @admin.display(description="where it applies", ordering="path")
    def where(self, policy: Policy) -> str:
        where = policy.path or "where code names it"
        return f"{' '.join(policy.methods)} {where}" if policy.methods else where

    def has_reset_permission(self, request: HttpRequest) -> bool:
        """Its own permission: to reset is not to edit."""
        user = request.user
        return user.is_active and user.has_perm("ratelimit_app.reset_policy")

    def get_urls(self) -> list[URLPattern]:
        reset = path(
            "<path:object_id>/reset/",
            self.admin_site.admin_view(self.reset_view),
            name="ratelimit_app_policy_reset",
        )
        whoami = path(
            "whoami/", self.admin_site.admin_view(self.whoami_view), name="ratelimit_app_whoami"
        )
        doctor = path(
            "doctor/", self.admin_site.admin_view(self.doctor_view), name="ratelimit_app_doctor"
        )
        # First: the page of a policy takes whatever is left.
        return [reset, whoami, doctor, *super().get_urls()]

    def whoami_view(self, request: HttpRequest) -> HttpResponse:
        """For all staff: it shows them their own request and nothing else."""
        context = {**self.admin_site.each_context(request), "title": "Who am I?"}
        template = "admin/ratelimit_app/policy/whoami.html"
        return TemplateResponse(request, template, {**context, "seen": seen(request)})

    def doctor_view(self, request: HttpRequest) -> HttpResponse:
        """For those who may see policies: it tells of servers, and of this process."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        context = {**self.admin_site.each_context(request), "title": "Doctor"}
        template = "admin/ratelimit_app/policy/doctor.html"
        return TemplateResponse(request, template, {**context, "findings": list(examine(request))})

    def reset_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        if not self.has_reset_permission(request):
            raise PermissionDenied
        policy = self.get_object(request, unquote(object_id))
        if policy is None:
            raise Http404(f"There is no policy {object_id!r}.")
        return reset_page(self, request, policy)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        context["can_reset"] = self.has_reset_permission(request)
        return super().render_change_form(request, context, *args, **kwargs)

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().changeform_view(request, *args, **kwargs)
        except Stale:
            return self._told_stale(request)

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            response = super().changelist_view(request, *args, **kwargs)
        except Stale:
            return self._told_stale(request)
        except OverflowError:
            # A primary key that no database has; Django asks for whatever was sent.
            raise BadRequest("What was sent is no policy.") from None
        shown = (getattr(response, "context_data", None) or {}).get("cl")
        if shown is not None and shown.formset is not None and shown.formset.is_bound:
            # Back with errors: each form under its own row, though rows moved or went meanwhile.
            shown.result_list = [form.instance for form in shown.formset.forms]
        return response

    def _told_stale(self, request: HttpRequest) -> HttpResponse:
        self.message_user(request, _STALE, messages.ERROR)
        return HttpResponseRedirect(request.get_full_path())

    def response_action(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponse | None:
        chosen = request.POST.getlist(ACTION_CHECKBOX_NAME)
        if not all(each.isascii() and each.isdigit() and len(each) < 20 for each in chosen):
            raise BadRequest("What was sent is no policy.")
        return super().response_action(request, *args, **kwargs)

    def get_changelist_form(self, request: HttpRequest, **kwargs: Any) -> type[ModelForm]:
        return super().get_changelist_form(request, **{"form": GuardedForm, **kwargs})

    def get_changelist_formset(self, request: HttpRequest, **kwargs: Any) -> Any:
        return super().get_changelist_formset(request, **{"formset": PolicyFormSet, **kwargs})

    def save_model(self, request: HttpRequest, obj: Policy, form: ModelForm, change: bool) -> None:
        if not change:
            super().save_model(request, obj, form, change)
        elif isinstance(form, GuardedForm) and (changes := form.changes()):
            save_changes(obj, list(changes))

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> Any:
        """Old and new values; Django's own names the fields alone."""
        if add or not isinstance(form, GuardedForm):
            return super().construct_change_message(request, form, formsets, add)
        return told(form.changes()) or []
