"""What is protected: each spelling of a URL, sent as it stands, is charged as docs/doors.md says.

Every request carries a name of its own and is counted by it, so that what each policy spent for one
request is known with `==`; and the view says itself whether it ran.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from . import databases
from .processes import Editor, Server, Site
from .raw import send

#: Doors and patterns before one view, each a policy of its own. A unit comes back after an hour.
POLICIES = """
for slug, path, methods in [
    ("all", "/**", []),              # the middleware, by path: everything
    ("path", "/api/login/", []),     # by path
    ("view", "login", []),           # by the view's name
    ("code", "", []),                # the decorator
    ("get", "login", ["GET"]),
    ("post", "login", ["POST"]),
    ("options", "login", ["OPTIONS"]),
]:
    Policy.objects.create(
        slug=slug, path=path, methods=methods, limit=100, period=360_000,
        key="header", key_name="X-Request",
    )
"""
SPENT = """
from ratelimit_app import limiter
def spent(key):
    left = {slug: limiter.peek(slug, key=key, cost=0).remaining for slug in slugs}
    return {slug: 100 - units for slug, units in left.items() if units < 100}
slugs = list(Policy.objects.values_list("slug", flat=True))
value = [spent(key) for key in keys]
"""

RAN = "200 all code get path view"
BY_VIEW = "200 all code get view"
POSTED = "200 all code path post view"
OTHER = "200 all code path view"
NOWHERE = "404 all"
ASKED = "200 options"

#: The request line, with headers behind |: the status, and the policies it is charged to, once
#: each. Only the view answers 200.
SPELLINGS = {
    # Queries, fragments and matrix parameters.
    "GET /api/login/": RAN,
    "GET /api/login/?next=/other/": RAN,
    "GET /api/login/??//": RAN,
    "GET /api/login/?_method=OPTIONS": RAN,
    "GET /api/login/;a=b": NOWHERE,
    "GET /api/login;a=b/": NOWHERE,
    "GET /api;a=b/login/": NOWHERE,
    # Percent encodings are undone once.
    "GET /api%2Flogin/": RAN,
    "GET /%61pi/login/": RAN,
    "GET /%61%70%69%2f%6c%6f%67%69%6e%2f": RAN,
    "GET /api/login%2F": RAN,
    "GET /api%252Flogin/": NOWHERE,
    "GET /api/login/%00": NOWHERE,
    "GET /api/login%0A/": NOWHERE,
    "GET /api/login/%0d%0a": NOWHERE,
    "GET /api/login%20/": NOWHERE,
    "GET /api/log%in/": NOWHERE,
    "GET /api/l%C3%B6gin/": NOWHERE,
    "GET /api/%FFlogin/": NOWHERE,
    # Slashes, dots, case.
    "GET //api/login/": NOWHERE,
    "GET ///api/login/": NOWHERE,
    "GET /api//login/": NOWHERE,
    "GET /api/login//": NOWHERE,
    "GET /api/login%2F%2F": NOWHERE,
    "GET /api/./login/": NOWHERE,
    "GET /x/../api/login/": NOWHERE,
    "GET /api/%2e%2e/api/login/": NOWHERE,
    "GET /api/login/.": NOWHERE,
    "GET /api%5Clogin/": NOWHERE,
    "GET /api\\login/": NOWHERE,
    "GET /API/login/": NOWHERE,
    "GET /%41pi/login/": NOWHERE,
    "GET /": NOWHERE,
    # Django's own redirects charge nobody: the client comes back.
    "GET /api/login": "301",
    "GET /api/login?a=b": "301",
    "HEAD /api/login": "301",
    "GET /konto/": "302",
    "GET /konto": "302",
    "GET /de/konto": "301",
    # Several URLs for one view.
    "GET /de/konto/": BY_VIEW,
    "GET /en/konto/": BY_VIEW,
    "HEAD /de/konto/": BY_VIEW,
    "GET /DE/konto/": NOWHERE,
    "GET /fr/konto/": NOWHERE,
    "GET /api/bare": "200 all code",
    "GET /api/bare/": NOWHERE,
    # Methods: GET covers HEAD, and only who names OPTIONS counts it.
    "HEAD /api/login/": RAN,
    "HEAD /api//login/": NOWHERE,
    "POST /api/login/": POSTED,
    "PUT /api/login/": OTHER,
    "DELETE /api/login/": OTHER,
    "TRACE /api/login/": OTHER,
    "PROPFIND /api/login/": OTHER,
    "WHATEVER /api/login/": OTHER,
    "OPTIONS /api/login/": ASKED,
    "OPTIONS /api//login/": "404",
    "OPTIONS *": "404",
    # What asks for another method or path is not obeyed.
    "GET /api/login/ | X-HTTP-Method-Override: OPTIONS": RAN,
    "POST /api/login/ | X-HTTP-Method-Override: GET": POSTED,
    "POST /api/login/ | X-HTTP-Method: OPTIONS": POSTED,
    "POST /api/login/ | X-Method-Override: OPTIONS": POSTED,
    "GET /api/login/ | X-Original-URL: /other/": RAN,
    "GET /other/ | X-Original-URL: /api/login/": NOWHERE,
    "GET /other/ | X-Rewrite-URL: /api/login/": NOWHERE,
    "GET /api/login/ | X-Forwarded-Prefix: /api": RAN,
    "GET /api/login/ | Script-Name: /api": RAN,
    "GET /api/login/ | Upgrade: websocket": RAN,
    # Refused by Django before the view: the token against forgery is missing.
    "POST /api/guarded/": "403 all",
    "GET /api/guarded/": "200 all code",
}
#: What a server answers by itself, or reads in a way of its own.
GUNICORN = {
    "get /api/login/": "400",
    "post /api/login/": "400",
    "GET api/login/": "400",
    "GET %2Fapi/login/": "400",
    "GET *": "400",
    "GET /api/log\xedn/": "400",
    "GET /api/login/#part": RAN,
    "GET http://testserver/api/login/": RAN,
    "GET HTTPS://other.example/api/login/": RAN,
    "GET http://testserver//api/login/": NOWHERE,
    # A proxy on this host may say where the project is mounted, and so may any client through it.
    "GET /x/api/login/ | SCRIPT_NAME: /x": RAN,
    "GET /api/login/ | SCRIPT_NAME: /api": NOWHERE,
}
UVICORN = {
    "get /api/login/": RAN,
    "post /api/login/": POSTED,
    "GET api/login/": NOWHERE,
    "GET xapi/login/": NOWHERE,
    "GET %2Fapi/login/": RAN,
    "GET *": NOWHERE,
    "GET /api/log\xedn/": "400",
    "GET /api/login/#part": NOWHERE,
    "GET http://testserver/api/login/": NOWHERE,
    "GET /x/api/login/ | SCRIPT_NAME: /x": NOWHERE,
}
#: gunicorn --env SCRIPT_NAME=/shop: the proxy leaves the prefix where it is.
MOUNTED_GUNICORN = {
    "GET /shop/api/login/": RAN,
    "HEAD /shop/api/login/": RAN,
    "OPTIONS /shop/api/login/": ASKED,
    "GET /shop%2Fapi/login/": RAN,
    "GET /shop/de/konto/": BY_VIEW,
    "GET /shop/konto/": "302",
    "GET /shop/api/login": "301",
    "GET /shop//api/login/": NOWHERE,
    "GET /shop/shop/api/login/": NOWHERE,
    "GET /shopapi/login/": NOWHERE,
    "GET /shopxapi/login/": NOWHERE,
    # gunicorn's own answer: no request has come to Django.
    "GET /api/login/": "500",
    "GET /SHOP/api/login/": "500",
}
#: uvicorn --root-path /shop: the proxy takes the prefix off, and uvicorn puts it back.
MOUNTED_UVICORN = {
    "GET /api/login/": RAN,
    "HEAD /api/login/": RAN,
    "GET /api%2Flogin/": RAN,
    "GET /de/konto/": BY_VIEW,
    "GET /konto/": "302",
    "GET /api/login": "301",
    "GET //api/login/": NOWHERE,
    "GET /shop/api/login/": NOWHERE,
    "GET xapi/login/": NOWHERE,
}
SERVERS = {
    "gunicorn": SPELLINGS | GUNICORN,
    "uvicorn": SPELLINGS | UVICORN,
    "gunicorn mounted": MOUNTED_GUNICORN,
    "uvicorn mounted": MOUNTED_UVICORN,
}


@pytest.fixture(scope="module")
def running(
    tmp_path_factory: pytest.TempPathFactory, migrated: dict[str, Any], redis_server: Any
) -> Iterator[tuple[dict[str, Server], Editor]]:
    folder = tmp_path_factory.mktemp("spellings")
    with Site(folder, databases.copy(migrated, folder), redis=redis_server.url) as site:
        site.env["DJANGO_SETTINGS_MODULE"] = "tests.live.site.spelled"
        editor = site.editor()
        editor.run(POLICIES)
        servers = {
            "gunicorn": site.gunicorn(1),
            "uvicorn": site.uvicorn(),
            "gunicorn mounted": site.gunicorn(1, "--env", "SCRIPT_NAME=/shop"),
            "uvicorn mounted": site.uvicorn("--root-path", "/shop"),
        }
        yield servers, editor


@pytest.mark.parametrize("name", SERVERS)
def test_every_spelling_that_reaches_the_view_is_charged_exactly_once(running, name) -> None:
    servers, editor = running
    table = SERVERS[name]
    # The socket was open before the server: the first request waits for it.
    found = {line: asked(servers[name], line, f"{name} {at}") for at, line in enumerate(table)}
    editor.run(f"keys = {[f'{name} {at}' for at in range(len(table))]!r}\n{SPENT}")
    for line, spent in zip(table, editor.value, strict=True):
        assert set(spent.values()) <= {1}, (line, spent)
        found[line] = " ".join([found[line], *sorted(spent)])
    assert found == table


def asked(server: Server, line: str, name: str) -> str:
    """The status; it is 200 if, and only if, the view ran."""
    start, *headers = line.split(" | ")
    reply = send(server.port, start, f"X-Request: {name}", *headers)
    method = start.split()[0].upper() if reply.status == 200 else None
    assert reply.headers.get("x-ran") == method, (line, reply)
    return str(reply.status)
