"""What the demo answers: the page, an endpoint for each algorithm, two behind the decorator."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse

from ratelimit_app.algorithms import ALGORITHMS
from ratelimit_app.decorators import rate_limit

_EXPLAINED = {
    "fixed_window": "Counts in windows of the clock. Simple; a burst on both sides of an edge "
    "gets twice the limit.",
    "sliding_window_log": "Remembers each request for one period. Exact, at the price of memory.",
    "sliding_window_counter": "Weighs the window before with the share of it that still counts.",
    "token_bucket": "Starts full of tokens, which come back at a steady pace.",
    "leaky_bucket": "Starts empty and fills with each request; what leaks out makes room.",
    "gcra": "Decides like the two buckets, and keeps one instant for each client.",
}

#: The slug of each algorithm's policy, which is also its place in addresses.
SLUGS = {name: name.replace("_", "-") for name in ALGORITHMS}

_CONTENT = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
_CONTENT += "connect-src 'self'; base-uri 'none'; form-action 'none'"


def page(request: HttpRequest) -> HttpResponse:
    """Six live buckets."""
    cards = [
        {
            "slug": slug,
            "title": "GCRA" if name == "gcra" else name.replace("_", " ").capitalize(),
            "text": _EXPLAINED.get(name, ""),
            "send": reverse(slug),
            "level": reverse(f"level-{slug}"),
        }
        for name, slug in SLUGS.items()
    ]
    response = render(request, "demo/page.html", {"cards": cards})
    response["Content-Security-Policy"] = _CONTENT
    return response


def answer(request: HttpRequest) -> HttpResponse:
    """Limited by the policy whose `path` is the endpoint's: nothing to see in the code."""
    return JsonResponse({"admitted": True})


def level(request: HttpRequest) -> HttpResponse:
    """Nothing but the RateLimit headers of a policy; see urls.py."""
    response = HttpResponse(status=204)
    response["Cache-Control"] = "no-store"
    return response


@rate_limit("login")
def login(request: HttpRequest) -> HttpResponse:
    """Limited by the policy of this slug."""
    return JsonResponse({"admitted": True})


@rate_limit("search", cost=5)
async def search(request: HttpRequest) -> HttpResponse:
    """An async view, each request of which takes five units."""
    return JsonResponse({"admitted": True})
