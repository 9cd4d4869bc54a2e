"""A bare view under each path that has policies, and under one that has none."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path

from benchmarks.policies import COUNTS


def view(request: HttpRequest) -> HttpResponse:
    return HttpResponse(b"ok")


def under_all_paths(view: Callable[..., Any]) -> list[URLPattern]:
    named = [f"{outcome}{count}" for outcome in ("admit", "refuse") for count in COUNTS]
    return [path(f"{name}/", view) for name in ["x", *named]]


urlpatterns = under_all_paths(view)
