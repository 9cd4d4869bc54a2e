"""Views of two names each, to tell which of them share a bucket."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views import View
from rest_framework.decorators import api_view
from rest_framework.response import Response
from rest_framework.views import APIView

from ratelimit_app.decorators import rate_limit

one = rate_limit("1/h")


@one
def first(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ran")


@one
def second(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ran")


@one
async def afirst(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ran")


class Plain(View):
    def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("ran")


class Plain2(Plain):
    pass


class Async(View):
    async def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("ran")


@one
class Whole(Plain):
    pass


class OfWhole(Whole):
    """Inherits the door, and is another view."""


@one
class AsyncWhole(Async):
    pass


@method_decorator(one, name="dispatch")
class Dispatched(Plain):
    pass


@method_decorator(one, name="dispatch")
class Dispatched2(Plain):
    pass


@method_decorator(one, name="dispatch")
class AsyncDispatched(Async):
    pass


@method_decorator(one, name="get")
class Got(Plain):
    pass


class OfGot(Got):
    pass


class Method(View):
    @one
    def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("ran")

    @one
    def post(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("ran")


class OfMethod(Method):
    pass


class Callable:
    def __call__(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("ran")

    def bound(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("ran")


class Api(APIView):
    @one
    def get(self, request: Any) -> Response:
        return Response("ran")


class OtherApi(APIView):
    def get(self, request: Any) -> Response:
        return Response("ran")


@one
@api_view(["GET"])
def outside(request: Any) -> Response:
    return Response("ran")


@one
@api_view(["GET"])
def outside2(request: Any) -> Response:
    return Response("ran")


@api_view(["GET"])
@one
def inside(request: Any) -> Response:
    return Response("ran")


@rate_limit("3/m")
@rate_limit("30/d")
def stacked(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ran")


@method_decorator(rate_limit("3/m"), name="dispatch")
@method_decorator(rate_limit("30/d"), name="dispatch")
class Stacked(Plain):
    pass


@method_decorator([rate_limit("3/m"), rate_limit("30/d")], name="get")
class Listed(Plain):
    pass


@rate_limit("3/m")
@rate_limit("30/d")
class Classes(Plain):
    pass


@rate_limit(limit=1, period=3600, name="shared")
def shares(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ran")


@rate_limit(limit=1, period=3600, name="shared")
async def ashares(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ran")
