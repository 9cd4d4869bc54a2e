"""The door for Django REST Framework: a throttle class that charges policies.

Its 429 is DRF's own exception, so the site's exception handlers and renderers work as ever.
"""

from typing import Any

from django.http import HttpRequest
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from . import limiter, refresh, responses
from .conf import conf
from .policies import CompiledPolicy, Snapshot
from .verdict import Verdict


class TemporarilyUnavailable(APIException):
    """The store failed, and a policy says that nobody is served then."""

    status_code = 503
    default_detail = "Temporarily not available."
    default_code = "temporarily_unavailable"
    #: Seconds; DRF makes a Retry-After of it.
    wait = 1


class PolicyThrottle(BaseThrottle):
    """Charges the policies a view names, and those that match the request by path or view.

    A view, viewset or action names them by slug in `throttle_policies`, or one in
    `throttle_scope`. What the middleware has charged already is not charged again.
    """

    def __init__(self) -> None:
        self._wait: float | None = None

    def allow_request(self, request: Request, view: Any) -> bool:
        """Whether the request may go on; DRF asks before the view runs, after authentication."""
        if not conf().enabled:
            return True
        http: HttpRequest = request._request
        try:
            # DRF finds users that Django's middleware does not, by token for one; once asked, it
            # tells Django's request.
            _ = request.user
            verdict = limiter.check(http, _wanted(refresh.keeper.current(), http, view))
        except APIException:
            # Wrong credentials are DRF's to answer.
            raise
        except Exception as error:
            if responses.broken(http, error) is not None:
                _stamp(view, http, responses.FAULT)
                raise TemporarilyUnavailable from error
            return True
        _stamp(view, http, verdict)
        if verdict.status == 503:
            raise TemporarilyUnavailable
        self._wait = verdict.retry_after
        return verdict.allowed

    def wait(self) -> float | None:
        """Seconds until the request would be allowed; None when it never will be."""
        return self._wait


def _wanted(
    snapshot: Snapshot, request: HttpRequest, view: Any
) -> list[tuple[CompiledPolicy, int]]:
    scope = getattr(view, "throttle_scope", None)
    named = [*(getattr(view, "throttle_policies", None) or ()), *([scope] if scope else ())]
    method, match = request.method or "", request.resolver_match
    name = None if match is None else match.view_name
    found = [policy for slug in named for policy in snapshot.named(slug, method)]
    found += snapshot.matching(method, request.path_info, name)
    return [(policy, policy.cost) for policy in found]


def _stamp(view: Any, request: HttpRequest, verdict: Verdict) -> None:
    """Put the headers on whatever the view answers, refusals too.

    By DRF's `view.headers` a cache would keep them, and show one client's numbers to another.
    """
    finalize = getattr(view, "finalize_response", None)
    if finalize is None:
        return

    def finalized(*args: Any, **kwargs: Any) -> Any:
        response = responses.stamped(request, finalize(*args, **kwargs))
        if not verdict.allowed:
            # As in `responses.refuse`: under attack Django would log a line for each.
            response._has_been_logged = True
            more = responses.refusal_headers(verdict)
            response["Cache-Control"] = more.pop("Cache-Control")
            for name, value in more.items():
                # DRF's own may be longer, for another throttle's sake.
                response.setdefault(name, value)
        return response

    view.finalize_response = finalized
