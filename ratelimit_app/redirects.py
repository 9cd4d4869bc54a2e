"""Which 404s Django turns into a redirect: the request that follows is charged instead."""

from typing import Any

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
    return _gets_slash(path, urlconf) or _gets_language(path, urlconf)


def _gets_slash(path: str, urlconf: Any) -> bool:
    """As `CommonMiddleware.should_redirect_with_slash`."""
    if _COMMON not in settings.MIDDLEWARE or not settings.APPEND_SLASH or path.endswith("/"):
        return False
    match = is_valid_path(f"{path}/", urlconf)
    if not match or is_valid_path(path, urlconf):
        return False
    return bool(getattr(match.func, "should_append_slash", True))


def _gets_language(path: str, urlconf: Any) -> bool:
    """As `LocaleMiddleware.process_response`."""
    used, default_has_prefix = is_language_prefix_patterns_used(urlconf)
    if _LOCALE not in settings.MIDDLEWARE or not used or not default_has_prefix:
        return False
    if get_language_from_path(path):
        return False
    localised = f"/{get_language()}{path}"
    slash = settings.APPEND_SLASH and not path.endswith("/")
    return bool(
        is_valid_path(localised, urlconf) or (slash and is_valid_path(f"{localised}/", urlconf))
    )
