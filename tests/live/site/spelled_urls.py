"""One view at several URLs. It says that it ran, also where an answer has no body."""

from django.conf.urls.i18n import i18n_patterns
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from ratelimit_app.decorators import rate_limit


@csrf_exempt
@rate_limit("code")
def login(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ran", headers={"X-Ran": request.method or ""})


@rate_limit("code")
def guarded(request: HttpRequest) -> HttpResponse:
    """As above, and a POST needs the token against forgery."""
    return HttpResponse("ran", headers={"X-Ran": request.method or ""})


urlpatterns = [
    path("api/login/", login, name="login"),
    path("api/guarded/", guarded, name="guarded"),
    path("api/bare", login, name="bare"),
    *i18n_patterns(path("konto/", login, name="login")),
]
