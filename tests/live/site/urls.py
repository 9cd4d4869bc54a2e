"""Any path is a view; below /slow/ it takes a moment, so that the next request goes elsewhere."""

import time

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import path

from ratelimit_app.decorators import rate_limit


def fast(request: HttpRequest, rest: str) -> HttpResponse:
    return HttpResponse("served")


def slow(request: HttpRequest, rest: str) -> HttpResponse:
    time.sleep(0.05)
    return HttpResponse("served")


async def on_the_loop(request: HttpRequest, rest: str) -> HttpResponse:
    return HttpResponse("served")


@rate_limit("named")
def named(request: HttpRequest) -> HttpResponse:
    return HttpResponse("served")


@rate_limit("named")
async def named_on_the_loop(request: HttpRequest) -> HttpResponse:
    return HttpResponse("served")


urlpatterns = [
    path("admin/", admin.site.urls),
    path("named/", named),
    path("named/async/", named_on_the_loop),
    path("async/<path:rest>", on_the_loop),
    path("slow/<path:rest>", slow),
    path("<path:rest>", fast),
]
