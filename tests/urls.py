"""A few views of each kind that a door may stand in front of, and the admin."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views import View


def sync_view(request: HttpRequest, **kwargs: object) -> HttpResponse:
    return HttpResponse("sync")


async def async_view(request: HttpRequest, **kwargs: object) -> HttpResponse:
    return HttpResponse("async")


class ClassView(View):
    def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("class")

    def post(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("class")


shop = (
    [
        path("items/<int:pk>/", sync_view, name="item"),
        path("items/<int:pk>/async/", async_view, name="item-async"),
    ],
    "shop",
)

urlpatterns = [
    path("sync/", sync_view, name="sync"),
    path("async/", async_view, name="async"),
    path("class/", ClassView.as_view(), name="class"),
    path("shop/", include(shop)),
    path("admin/", admin.site.urls),
]
