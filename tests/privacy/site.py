"""A site that counts one client by everything that is known of him, behind every door."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import path
from rest_framework.response import Response
from rest_framework.views import APIView

from ratelimit_app.decorators import rate_limit
from ratelimit_app.drf import PolicyThrottle

#: What nobody may find anywhere. The session's key is made by Django.
ADDRESS, ADDRESS_6 = "203.0.113.217", "2001:db8:ca7a:11::217"
USER, USER_PK = "canary-of-the-user", 1_731_265_091
HEADER = "canary-of-the-header"
FUNCTION = "canary-of-the-function"

KINDS = {
    "ip": "",
    "user": "",
    "user_or_ip": "",
    "session": "",
    "header": "X-Canary",
    "function": "tests.privacy.site.value",
}


def value(request: HttpRequest) -> str:
    return FUNCTION


def broken(request: HttpRequest) -> str:
    raise LookupError("no tenant")


def view(request: HttpRequest) -> HttpResponse:
    return HttpResponse("seen")


async def aview(request: HttpRequest) -> HttpResponse:
    return HttpResponse("seen")


def decorated(decorate: Any) -> Any:
    for kind in KINDS:
        decorate = rate_limit(f"code-{kind}".replace("_", "-"))(decorate)
    return decorate


class Throttled(APIView):
    throttle_classes = [PolicyThrottle]
    throttle_policies = [f"code-{kind}".replace("_", "-") for kind in KINDS]

    def get(self, request: Any) -> Response:
        return Response("seen")


urlpatterns = [
    path("site/page/", view),
    path("site/apage/", aview),
    path("site/decorated/", decorated(view)),
    path("site/adecorated/", decorated(aview)),
    path("site/drf/", Throttled.as_view()),
    path("admin/", admin.site.urls),
]
