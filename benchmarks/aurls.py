"""`urls`, with an async view."""

from django.http import HttpRequest, HttpResponse

from benchmarks.urls import under_all_paths


async def view(request: HttpRequest) -> HttpResponse:
    return HttpResponse(b"ok")


urlpatterns = under_all_paths(view)
