"""A template tag that asks the database."""

from django import template

register = template.Library()


@register.simple_tag
def users() -> int:
    from django.contrib.auth.models import User

    count: int = User.objects.count()
    return count
