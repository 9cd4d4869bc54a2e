"""Which 404s Django turns into a redirect: the request that follows is charged instead."""

from django.conf import settings
from django.conf.urls.i18n import is_language_prefix_patterns_used
from django.http import HttpRequest
from django.urls import is_valid_path
from django.utils.translation import get_language, get_language_from_path

_COMMON = "django.middleware.common.CommonMiddleware"
_LOCALE = "django.middleware.locale.LocaleMiddleware"


def will_follow(request: HttpRequest) -> bool:
    """Whether a middleware further out will redirect this 404 to a path that exists."""
    urlconf = getattr(request, "urlconf", settings.ROOT_URLCONF)
    path = request.path_info
    slash = _COMMON in settings.MIDDLEWARE and settings.APPEND_SLASH and not path.endswith("/")
    candidates = [path + "/"] if slash else []
    localised = _LOCALE in settings.MIDDLEWARE and is_language_prefix_patterns_used(urlconf)[0]
    if localised and not get_language_from_path(path):
        candidates += [f"/{get_language()}{path}", f"/{get_language()}{path}/"]
    return any(is_valid_path(candidate, urlconf) for candidate in candidates)
