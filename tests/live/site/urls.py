"""Any path is a view; below /slow/ it takes a moment, so that the next request goes elsewhere."""

import asyncio
import threading
import time
import uuid

from django.contrib import admin
from django.contrib.auth.models import Group
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.test import override_settings
from django.urls import path

from ratelimit_app import outage, stores
from ratelimit_app.addresses import client_address
from ratelimit_app.decorators import rate_limit
from ratelimit_app.whoami import seen

from . import lag


def fast(request: HttpRequest, rest: str) -> HttpResponse:
    return HttpResponse("served")


def slow(request: HttpRequest, rest: str) -> HttpResponse:
    time.sleep(0.05)
    return HttpResponse("served")


async def on_the_loop(request: HttpRequest, rest: str) -> HttpResponse:
    return HttpResponse("served")


async def told(request: HttpRequest) -> HttpResponse:
    """What this process knows of itself; under WSGI the only task is the one that answers."""
    return JsonResponse(
        {
            "counts": outage.counts,
            "processes": stores.current().processes,
            "tasks": len(asyncio.all_tasks()),
            "threads": threading.active_count(),
            "late": list(lag.late),
        }
    )


@rate_limit("named")
def named(request: HttpRequest) -> HttpResponse:
    return HttpResponse("served")


@rate_limit("named")
async def named_on_the_loop(request: HttpRequest) -> HttpResponse:
    return HttpResponse("served")


@rate_limit("named")
def written(request: HttpRequest) -> HttpResponse:
    """What it writes stays if its transaction does."""
    Group.objects.create(name=str(uuid.uuid4()))
    return HttpResponse("written")


def who(request: HttpRequest) -> HttpResponse:
    """Whom the site sees, under each of these lists of trusted proxies."""
    found = {}
    for name, trusted in [("none", []), ("some", ["127.0.0.1", "10.0.0.0/8", "unix"])]:
        with override_settings(RATELIMIT={"TRUSTED_PROXIES": trusted}):
            found[name] = client_address(request), dict(seen(request))
    return JsonResponse(found)


urlpatterns = [
    path("written/", written),
    path("admin/", admin.site.urls),
    path("who/", who),
    path("told/", told),
    path("named/", named),
    path("named/async/", named_on_the_loop),
    path("async/<path:rest>", on_the_loop),
    path("slow/<path:rest>", slow),
    path("<path:rest>", fast),
]
