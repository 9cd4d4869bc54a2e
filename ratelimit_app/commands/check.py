"""`manage.py ratelimit check`: what would happen to a request now."""

import logging
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ImproperlyConfigured, ObjectDoesNotExist, ValidationError
from django.core.management.base import CommandError, CommandParser, OutputWrapper
from django.http import HttpRequest
from django.urls import Resolver404, resolve

from ratelimit_app import limiter, refresh
from ratelimit_app.addresses import parse
from ratelimit_app.conf import conf
from ratelimit_app.keys import user_of
from ratelimit_app.policies import CompiledPolicy
from ratelimit_app.verdict import Entry, Verdict

from . import check_coverage
from .base import is_shared, remark
from .words import key_words, left_words, limit_words, seconds, shown, table

log = logging.getLogger("ratelimit_app")

HELP = "Say what would happen to a request now, and why; or which views no policy covers."
ABOUT = """
Says which policies apply to a request by its path or its view, what each has left for this client,
and what would happen now. Nothing is spent, and the view does not run. Policies that code names
(@rate_limit, throttle_policies) are charged as well, and are not shown.

  manage.py ratelimit check /login/
  manage.py ratelimit check POST /login/ --ip 192.0.2.7 --user 42

With --coverage it goes through all views of the site instead, and says which of them no policy
covers, by its path, its view, a decorator or a throttle; and which policies match no view. With
--fail it ends with 1 where a view is not covered whole.

  manage.py ratelimit check --coverage
"""


def add_arguments(parser: CommandParser) -> None:
    """See `SubCommand.add_arguments`."""
    parser.add_argument("method", metavar="METHOD", nargs="?", help="the HTTP method (GET)")
    parser.add_argument(
        "path", metavar="PATH", nargs="?", help="the path as a visitor sees it, such as /login/"
    )
    parser.add_argument("--ip", default="127.0.0.1", help="the client's address (127.0.0.1)")
    parser.add_argument("--user", metavar="PK", help="the primary key of a user who is logged in")
    check_coverage.add_arguments(parser)


def run(options: dict[str, Any], out: OutputWrapper, err: OutputWrapper) -> None:
    """See `SubCommand.run`."""
    if options["coverage"]:
        check_coverage.run(options, out, err)
        return
    request = _request(options)
    out.write(f"{request.method} {shown(request.path_info)} from {options['ip']}, {_who(request)}")
    out.write(f"View: {_view(request) or _no_view(request.path_info)}")
    if not conf().enabled:
        out.write("Nothing is limited: RATELIMIT['ENABLED'] is False.")
        return
    match = request.resolver_match
    found = refresh.keeper.current().matching(
        str(request.method), request.path_info, match.view_name if match else None
    )
    if not found:
        out.write(
            "No policy applies by path or view: it would be allowed, save by policies that code "
            "names."
        )
        return
    if not is_shared():
        remark(err, "The buckets are in the memory of each process; these are of this process.")
    identities = {policy.slug: _identity(request, policy) for policy in found}
    wanted = [(each, each.cost) for each in found if isinstance(identities[each.slug], tuple)]
    verdict = limiter.peek_request(request, wanted)
    entries = {entry.policy.slug: entry for entry in verdict.entries}
    rows = [_row(each, identities[each.slug], entries.get(each.slug)) for each in found]
    out.write(table([("policy", "mode", "limit", "counted as", "left after", "now"), *rows]))
    out.write(_outcome(verdict))


def _request(options: dict[str, Any]) -> HttpRequest:
    """A request as a server would hand it to Django, without going through the middleware."""
    method, path = _method_and_path(options["method"], options["path"])
    if parse(options["ip"]) is None:
        raise CommandError(
            f"--ip {options['ip']!r} is no address: give one such as 192.0.2.7 or 2001:db8::7."
        )
    request = HttpRequest()
    request.method, request.path, request.path_info = method, path, path
    request.META = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "REMOTE_ADDR": options["ip"],
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
    }
    if options["user"] is not None:
        request.user = _user(options["user"])
    elif apps.is_installed("django.contrib.auth"):
        from django.contrib.auth.models import AnonymousUser

        request.user = AnonymousUser()
    try:
        request.resolver_match = resolve(path)
    except Resolver404:
        request.resolver_match = None
    return request


def _method_and_path(method: str | None, path: str | None) -> tuple[str, str]:
    if path is None:
        # One word alone is the path.
        method, path = "GET", method
    if path is None:
        raise CommandError("Give the path of a request, such as /login/, or --coverage.")
    if method is None or not method.isalpha():
        raise CommandError(f"{method!r} is no method: give one such as GET or POST.")
    if not path.startswith("/"):
        raise CommandError(
            f"{path!r} is no path: begin with a slash, and write the method before it, "
            "such as: check POST /login/"
        )
    return method.upper(), path.partition("?")[0]


def _user(pk: str) -> Any:
    try:
        model = get_user_model()
    except ImproperlyConfigured as error:
        raise CommandError(f"--user {pk!r}: {error}.") from None
    try:
        return model._default_manager.get(pk=pk)
    except (ObjectDoesNotExist, ValueError, ValidationError):
        raise CommandError(
            f"--user {pk!r}: there is no such {model._meta.verbose_name}. Give a primary key, not "
            "a name."
        ) from None


def _who(request: HttpRequest) -> str:
    user = user_of(request)
    return f"logged in as {shown(str(user))}" if user.is_authenticated else "not logged in"


def _view(request: HttpRequest) -> str | None:
    match = request.resolver_match
    return None if match is None else match.view_name or match._func_path


def _no_view(path: str) -> str:
    """With APPEND_SLASH Django redirects such a 404, so the visitor means the other path."""
    found = "none (404), so only policies with a path apply"
    if settings.APPEND_SLASH and not path.endswith("/"):
        try:
            resolve(f"{path}/")
        except Resolver404:
            return found
        return f"{found}. {path}/ has a view; did you mean that?"
    return found


def _identity(request: HttpRequest, policy: CompiledPolicy) -> tuple[str, ...] | str:
    """Who is counted; a text says why nobody is."""
    try:
        found = policy.key.of(request, policy.key_name)
    except Exception as error:
        log.debug("The key of policy %r failed.", policy.slug, exc_info=True)
        return f"the key failed ({type(error).__name__}: {error}), so {policy.on_error} decides"
    return f"does not apply: no {key_words(policy)}" if found is None else found


def _row(
    policy: CompiledPolicy, identity: tuple[str, ...] | str, entry: Entry | None
) -> tuple[str, ...]:
    about = (policy.slug, policy.mode, limit_words(policy.quota.limit))
    if isinstance(identity, str):
        return (*about, "nobody", "", identity)
    counted = " ".join(map(shown, identity))
    if entry is None:
        return (*about, counted, "", "not asked: another policy refuses everything")
    return (*about, counted, left_words(entry.decision), _now(entry))


def _now(entry: Entry) -> str:
    policy, decision = entry
    if decision.allowed:
        return "allows"
    who = "refuses" if policy.mode == "enforce" else f"would refuse, but is in {policy.mode}"
    if decision.retry_after is not None:
        return f"{who}; allows in {seconds(decision.retry_after)}"
    return f"{who}, always: cost {policy.cost} never fits"


def _outcome(verdict: Verdict) -> str:
    if verdict.allowed:
        return "It would be allowed. (Nothing was spent.)"
    wait = verdict.retry_after
    again = "however long it waits" if wait is None else f"to be tried again in {seconds(wait)}"
    return f"It would be refused ({verdict.status}), {again}. (Nothing was spent.)"
