"""System checks: what is wrong in the settings, said before the first request.

None of them queries the database or connects to Redis.
"""

from collections.abc import Iterator
from importlib.util import find_spec

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.core.exceptions import ValidationError
from django.utils.module_loading import import_string

from ratelimit_app.conf import Conf, SettingError, conf, problems
from ratelimit_app.stores import UNFIT
from ratelimit_app.validators import function_problem

TAG = "ratelimit_app"
MIDDLEWARE = "ratelimit_app.middleware.RateLimitMiddleware"

_BACKENDS = "django.core.cache.backends."
#: Caches that can count, and the package that each needs.
_PACKAGES = {
    f"{_BACKENDS}redis.RedisCache": "redis",
    "django_redis.cache.RedisCache": "django_redis",
}
_LOCMEM = f"{_BACKENDS}locmem.LocMemCache"
_INSTEAD = (
    "Name a cache with django.core.cache.backends.redis.RedisCache in RATELIMIT['CACHE']; for one "
    "process alone, LocMemCache does."
)


def register_checks() -> None:
    for check in (
        check_settings,
        check_cache,
        check_keys,
        check_policies,
        check_middleware,
        check_order,
    ):
        register(check, TAG)


def check_settings(**kwargs: object) -> list[CheckMessage]:
    return [Error(problem, id="ratelimit_app.E001") for problem in problems()]


def check_cache(**kwargs: object) -> list[CheckMessage]:
    alias = usable_conf().cache
    if alias in settings.CACHES:
        return list(_check_backend(alias, settings.CACHES[alias].get("BACKEND", "")))
    known = ", ".join(sorted(settings.CACHES))
    return [
        Error(
            f"RATELIMIT['CACHE'] is {alias!r}, which CACHES does not have.",
            hint=f"Add it to CACHES, or use one of these: {known}.",
            id="ratelimit_app.E002",
        )
    ]


def _check_backend(alias: str, backend: str) -> Iterator[CheckMessage]:
    where = f"RATELIMIT['CACHE'] is {alias!r}, whose backend is {backend!r}"
    try:
        known = _known(import_string(backend))
    except ImportError as error:
        missing = error.name if error.name in _PACKAGES.values() else None
        if missing is None:
            yield Error(f"{where}: {error}.", hint=_INSTEAD, id="ratelimit_app.E003")
            return
        known = ""
    else:
        missing = _PACKAGES.get(known)
        if missing is not None and find_spec(missing) is not None:
            return
    if missing is not None:
        yield Error(
            f"{where}: the package {missing} is not installed.",
            hint="Install it: pip install 'django-ratelimit-app[redis]'.",
            id="ratelimit_app.E004",
        )
    elif known == _LOCMEM:
        yield Warning(
            f"{where}: it counts in each process by itself, so N processes let through N times "
            "each limit.",
            hint=f"Use {_BACKENDS}redis.RedisCache wherever more than one process runs.",
            id="ratelimit_app.W001",
        )
    else:
        why = UNFIT.get(known, "it is not known to be atomic")
        yield Error(f"{where}: {why}.", hint=_INSTEAD, id="ratelimit_app.E003")


def _known(backend: type) -> str:
    """The dotted path of the class that this one is or extends and that we have a word on."""
    for each in backend.__mro__:
        name = f"{each.__module__}.{each.__qualname__}"
        if name in _PACKAGES or name in UNFIT or name == _LOCMEM:
            return name
    return ""


def check_keys(**kwargs: object) -> list[CheckMessage]:
    found = {name: function_problem(path) for name, path in usable_conf().keys.items()}
    return [
        Error(f"RATELIMIT['KEYS'][{name!r}]: {problem}", id="ratelimit_app.E005")
        for name, problem in found.items()
        if problem
    ]


def check_policies(**kwargs: object) -> list[CheckMessage]:
    # Models can be imported once the apps are ready, as they are when checks run.
    from ratelimit_app.declared import unsaved_policy
    from ratelimit_app.policies import compiled
    from ratelimit_app.sources import DEFAULTS

    found: list[CheckMessage] = []
    seen = set()
    for index, values in enumerate(usable_conf().policies):
        slug = str(values.get("slug", "")).lower()
        problems = []
        try:
            unsaved_policy(values)
            compiled({**DEFAULTS, **values, "slug": slug})
        except ValidationError as error:
            problems = _sentences(error)
        except ValueError as error:
            problems = [str(error)]
        except ArithmeticError:
            problems = ["a signalling NaN is no value of any field: use a number."]
        if slug in seen:
            problems.append("another policy before it has this slug: choose another.")
        seen.add(slug)
        where = f"RATELIMIT['POLICIES'][{index}] ({slug!r})"
        found += [Error(f"{where}: {each}", id="ratelimit_app.E006") for each in problems]
    return found


def _sentences(error: ValidationError) -> list[str]:
    if not hasattr(error, "error_dict"):
        return list(error.messages)
    pairs = [(name, each) for name, some in error.message_dict.items() for each in some]
    return [each if each.startswith(name) else f"{name}: {each}" for name, each in pairs]


def check_middleware(**kwargs: object) -> list[CheckMessage]:
    times = list(settings.MIDDLEWARE).count(MIDDLEWARE)
    if times < 2:
        return []
    return [
        Warning(
            f"MIDDLEWARE lists {MIDDLEWARE} {times} times.",
            hint="Leave the first and remove the others: a request is decided once.",
            id="ratelimit_app.W002",
        )
    ]


def check_order(**kwargs: object) -> list[CheckMessage]:
    """Behind a cache middleware the limiter never hears of the pages that come from the cache."""
    order = list(settings.MIDDLEWARE)
    fetch = "django.middleware.cache.FetchFromCacheMiddleware"
    cache = [each for each in (fetch, "django.middleware.cache.CacheMiddleware") if each in order]
    if MIDDLEWARE not in order or not cache or order.index(MIDDLEWARE) < order.index(cache[0]):
        return []
    return [
        Warning(
            f"MIDDLEWARE lists {cache[0]} before {MIDDLEWARE}, so pages from the cache are not "
            "counted.",
            hint="List RateLimitMiddleware before the cache middleware.",
            id="ratelimit_app.W003",
        )
    ]


def usable_conf() -> Conf:
    """The settings; the defaults where they cannot be used, which E001 says."""
    try:
        return conf()
    except SettingError:
        return Conf()
