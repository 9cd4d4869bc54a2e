"""Forms that write only what their user changed, and tell when somebody else wrote meanwhile."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import router
from django.http import QueryDict
from django.utils.functional import cached_property

from ratelimit_app.choices import EXPLAINED, algorithm_choices
from ratelimit_app.models import Policy
from ratelimit_app.numbers import BELOW
from ratelimit_app.querysets import new_revision
from ratelimit_app.signals import one_signal
from ratelimit_app.validators import METHODS

# Django's forms are generic for the type checker alone.
if TYPE_CHECKING:
    ModelForm = forms.ModelForm[Policy]
    ModelFormSet = forms.BaseModelFormSet[Policy, "GuardedForm"]
else:
    ModelForm, ModelFormSet = forms.ModelForm, forms.BaseModelFormSet

EDITABLE = [field.name for field in Policy._meta.fields if field.editable and field.name != "id"]


class Stale(Exception):
    """The row was written, or went, between the check of the form and its save."""


class _Seen(forms.IntegerField):
    """The revision that the page showed; to have seen an old one is no edit."""

    widget = forms.HiddenInput

    def has_changed(self, initial: Any, data: Any) -> bool:
        return False


class GuardedForm(ModelForm):
    """Compares with what the page showed, not with the row as it is now.

    What its user left alone stays as it is now, whoever wrote it. A form without `seen` (a script
    that posts by hand) is taken as it stands.
    """

    seen = _Seen(required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        there = self.instance.pk is not None
        if there:
            self.initial["seen"] = self.instance.revision
            # A row left alone is not checked either: it may be wrong for reasons of its own.
            self.empty_permitted, self.use_required_attribute = True, False
        if self.add_prefix("seen") in self.data if self.is_bound else there:
            for name in EDITABLE:
                if name in self.fields:
                    self.fields[name].show_hidden_initial = True
        for name, message in BELOW.items():
            if name in self.fields:
                self.fields[name].error_messages["min_value"] = message

    @cached_property
    def changed_data(self) -> list[str]:
        try:
            return super().changed_data
        except ArithmeticError:
            # A signalling NaN, which not even compares; its field refuses it.
            return list(self.fields)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if self.instance.pk is None:
            return cleaned
        for name in EDITABLE:
            if name in cleaned and name not in self.changed_data:
                cleaned[name] = getattr(self.instance, name)
        if cleaned.get("seen") not in (None, self.instance.revision):
            # A second save is then meant: it has been told.
            data = cast(QueryDict, self.data).copy()
            data[self.add_prefix("seen")] = str(self.instance.revision)
            self.data = data
            changed = [name for name in self.changed_data if name in EDITABLE]
            now = ", ".join(f"{name} {shown(self.initial[name])}" for name in changed)
            raise ValidationError(
                f"{self.instance.slug!r} was changed by somebody else since you opened this page, "
                f"and your change is not saved. Where you changed it, it now has: {now}. "
                "Save again to put your values there, or reload the page to see all of it."
            )
        return cleaned

    def add_error(self, field: str | None, error: Any) -> None:
        """A rule of the model may complain of a field that is not in this form."""
        if field is None and hasattr(error, "error_dict"):
            known = {*self.fields, NON_FIELD_ERRORS}
            found = error.error_dict
            absent = [each for name in found if name not in known for each in found[name]]
            error = {name: found[name] for name in found if name in known}
            if absent:
                error.setdefault(NON_FIELD_ERRORS, []).extend(absent)
        super().add_error(field, error)

    def changes(self) -> dict[str, tuple[object, object]]:
        """Of each field that its user changed, the value before and after."""
        pairs = {
            name: (self.initial.get(name), getattr(self.instance, name))
            for name in self.changed_data
            if name in EDITABLE
        }
        return {name: (old, new) for name, (old, new) in pairs.items() if old != new}


class PolicyForm(GuardedForm):
    """The page of one policy."""

    methods = forms.MultipleChoiceField(
        choices=[(method, method) for method in METHODS],
        widget=forms.CheckboxSelectMultiple,
        required=False,
        help_text="None ticked: all but OPTIONS. GET covers HEAD.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        algorithm = self.fields.get("algorithm")
        if isinstance(algorithm, forms.ChoiceField):
            algorithm.choices = [
                (name, f"{label}: {EXPLAINED[name]}" if name in EXPLAINED else label)
                for name, label in algorithm_choices()
            ]


class PolicyFormSet(ModelFormSet):
    """The list, without the rows that were deleted while it was open."""

    @cached_property
    def forms(self) -> list[GuardedForm]:
        made = super().forms
        self._gone = [form for form in made if form.instance._state.adding]
        return [form for form in made if not form.instance._state.adding]

    def clean(self) -> None:
        super().clean()
        lost = []
        for form in self._gone:
            changed = [name for name in form.changed_data if name in EDITABLE]
            if changed and form.add_prefix("id") in form.data:
                lost.append(", ".join(f"{name} {form[name].data}" for name in changed))
        if lost:
            raise ValidationError(
                f"A policy that you changed (to {'; '.join(lost)}) was deleted by somebody else "
                "meanwhile. Nothing is saved yet: save again to save the rest."
            )


def save_changes(policy: Policy, names: list[str]) -> None:
    """Write these fields of a row that is still as it was read. Raises `Stale`."""
    using = router.db_for_write(Policy, instance=policy)
    with one_signal(Policy, using):
        row = Policy.objects.using(using).filter(pk=policy.pk, revision=policy.revision)
        # Claims the row in one step, whatever the database and its isolation.
        if not row.update(revision=new_revision()):
            raise Stale
        policy.save(update_fields=names)


def told(changes: dict[str, tuple[object, object]]) -> str:
    """Changes as the history tells them: what, from what, to what."""
    parts = [f"{name} from {shown(old)} to {shown(new)}" for name, (old, new) in changes.items()]
    return f"Changed {', '.join(parts)}." if parts else ""


def shown(value: object) -> str:
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    return "(empty)" if value in (None, "", []) else str(value)
