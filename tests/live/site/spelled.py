"""The site of the spellings: languages in its URLs, and one view behind three doors."""

from .settings import *  # noqa: F403
from .settings import MIDDLEWARE

ROOT_URLCONF = "tests.live.site.spelled_urls"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
MIDDLEWARE.insert(2, "django.middleware.locale.LocaleMiddleware")
