"""What a policy may say: what passes, and what is refused with the value and the fix."""

from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError

from ratelimit_app.numbers import number_problems
from ratelimit_app.validators import (
    key_problem,
    validate_methods,
    validate_path,
    validate_slug,
)


@pytest.mark.parametrize("slug", ["a", "login", "api-search_2", "0", "Login", "x" * 63])
def test_slugs(slug):
    validate_slug(slug)


@pytest.mark.parametrize("slug", ["", "a b", "a.b", "é", "a\n", "x" * 64, "a/b", "a:b", '"'])
def test_no_slugs(slug):
    with pytest.raises(ValidationError) as error:
        validate_slug(slug)
    assert error.value.messages == [
        f"{slug!r} is no slug: use 1 to 63 letters a to z, digits, hyphens and underscores, "
        "such as 'login' or 'api-search'."
    ]


@pytest.mark.parametrize(
    "path",
    [
        *("", "/", "/**", "/*", "/api/", "/api/*/orders/**", "/api/*", "/robots.txt", "/a b/ü"),
        *("/~user/@me/a,b;c=d", "name", "app:name", "app:*", "a:b:name", "a:b:*", "item-list.v2"),
    ],
)
def test_paths(path):
    validate_path(path)


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        ("^/(a+)+$", "'^'"),
        ("^(.*a){20}$", "'^'"),
        ("(", "'('"),
        ("^/x$", "'^'"),
        ("/x$", "'$'"),
        ("/a.*", "'.*'"),
        ("/[ab]/", "'['"),
        ("/a|b", "'|'"),
        ("/a\\d", "'\\\\'"),
        ("/a+", "'+'"),
        ("/a{2}", "'{'"),
        ("/items/<int:pk>/", "'<'"),
        ("/search?q=x", "'?'"),
        ("/a%20b", "'%'"),
        ("/a#b", "'#'"),
        ("/a\nb", "'\\n'"),
    ],
)
def test_no_regular_expressions(path, wrong):
    with pytest.raises(ValidationError) as error:
        validate_path(path)
    assert error.value.messages == [
        f"{path!r} holds {wrong}, which stands for nothing here: a path is no regular expression, "
        "route or query. Write the path as a visitor sees it, with * for one whole segment and ** "
        "at the end for the rest, such as '/api/*/orders/**'."
    ]


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        ("/api*", "api*"),
        ("/a*/b", "a*"),
        ("/**/b", "**"),
        ("/a/**/", "**"),
        ("/a/***", "***"),
        ("/*a", "*a"),
    ],
)
def test_stars_are_whole_segments(path, wrong):
    with pytest.raises(ValidationError) as error:
        validate_path(path)
    assert error.value.messages == [
        f"{path!r} has the segment {wrong!r}: * must be a whole segment, and ** the last one, "
        "such as '/api/*/orders/**'."
    ]


@pytest.mark.parametrize("path", ["api/login", "*", "**", "*:name", "app:", ":name", "app:*:x"])
def test_neither_a_path_nor_a_view(path):
    with pytest.raises(ValidationError) as error:
        validate_path(path)
    assert error.value.messages == [
        f"{path!r} is neither a path nor a view: begin a path with a slash, such as '/api/**', or "
        "name a view as in reverse(): 'name', 'app:name', or 'app:*' for every view of a "
        "namespace."
    ]


@pytest.mark.parametrize("methods", [[], ["GET"], ["POST", "PUT"], ["OPTIONS", "HEAD", "TRACE"]])
def test_methods(methods):
    validate_methods(methods)


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ("GET", "'GET' is no list of methods: write [] or ['POST', 'PUT']."),
        (None, "None is no list of methods: write [] or ['POST', 'PUT']."),
        ({"GET": 1}, "{'GET': 1} is no list of methods: write [] or ['POST', 'PUT']."),
        *(
            (
                [method],
                f"{method!r} is no method: use any of GET, HEAD, POST, PUT, PATCH, DELETE, "
                "OPTIONS, TRACE.",
            )
            for method in ("post", "PSOT", "", 1, ["GET"])
        ),
    ],
)
def test_no_methods(methods, message):
    with pytest.raises(ValidationError) as error:
        validate_methods(methods)
    assert error.value.messages == [message]


@pytest.mark.parametrize(
    ("key", "key_name", "problem"),
    [
        ("ip", "", None),
        ("global", "", None),
        ("header", "X-API-Key", None),
        ("function", "tenant", None),
        ("function", "os.path.join", None),
        ("ip", "x", "'x' is not used with the key ip: empty it, or count by a header."),
        *(
            (
                "header",
                name,
                f"{name!r} is no header: write its name as clients send it, with letters, digits "
                "and hyphens, such as 'X-API-Key'.",
            )
            for name in ("", "HTTP_X_API_KEY", "X-Key:", "X Key", "X-Kéy")
        ),
        *(
            (
                "function",
                name,
                f"{name!r} is no function: write a dotted path such as 'shop.keys.tenant', or one "
                "of tenant.",
            )
            for name in ("", "other", "a.", ".b", "a b.c", "a.b()")
        ),
        (
            "function",
            "no_such.thing",
            "'no_such.thing' cannot be imported (No module named 'no_such'): correct the dotted "
            "path, or install the package that it is in.",
        ),
        ("function", "os.sep", "'os.sep' is '/': name a function of the request."),
    ],
)
def test_keys(key, key_name, problem):
    assert key_problem(key, key_name, {"tenant"}) == problem


GCRA, LOG, WINDOW = "gcra", "sliding_window_log", "fixed_window"


@pytest.mark.parametrize(
    ("algorithm", "limit", "period", "burst", "cost", "problems"),
    [
        (GCRA, 100, "60", None, 1, {}),
        (GCRA, 0, "60", None, 5, {}),
        (GCRA, 1, "0.001", 1, 1, {}),
        (GCRA, 1, "315360000", None, 1, {}),
        (GCRA, 5000, "1", 5, 5, {}),
        (GCRA, 2**53 - 1, "0.001", None, 1, {}),
        (LOG, 1_000_000, "60", None, 1, {}),
        (WINDOW, 1_000_001, "60", None, 1, {}),
        (
            GCRA,
            -1,
            "60",
            None,
            1,
            {"limit": "limit -1 is below 0: use 0 to refuse everything, or a number above."},
        ),
        *(
            (
                GCRA,
                10,
                period,
                None,
                1,
                {"period": f"period {period} is too short: use at least 0.001 seconds."},
            )
            for period in ("0", "-60", "0.0009")
        ),
        (
            GCRA,
            10,
            "315360000.001",
            None,
            1,
            {
                "period": "period 315360000.001 is too long: use at most 315360000 seconds "
                "(ten years)."
            },
        ),
        (
            GCRA,
            10,
            "60",
            0,
            1,
            {"burst": "burst 0 is below 1: leave it empty to allow the limit at once."},
        ),
        (
            GCRA,
            10,
            "60",
            None,
            0,
            {"cost": "cost 0 is below 1: use 1; to count nothing, set the mode to off."},
        ),
        (
            WINDOW,
            10,
            "60",
            10,
            1,
            {
                "burst": "burst 10 has no meaning for fixed_window: leave it empty, or choose one "
                "of gcra, leaky_bucket, token_bucket."
            },
        ),
        (
            GCRA,
            5001,
            "1",
            5,
            1,
            {
                "burst": "burst 5 is too small for 5001 in 1000 ms, which refill more in one "
                "millisecond: use at least 6, or leave it empty."
            },
        ),
        (
            GCRA,
            10**12,
            "315360000",
            None,
            1,
            {
                "limit": "limit 1000000000000 is too large to be counted exactly over "
                "315360000000 ms: use at most 28561, or a shorter period."
            },
        ),
        (
            GCRA,
            2**53,
            "0.001",
            None,
            1,
            {
                "limit": "limit 9007199254740992 is too large to be counted exactly over 1 ms: "
                "use at most 9007199254740991, or a shorter period."
            },
        ),
        (
            GCRA,
            10,
            "3600",
            10**10,
            1,
            {
                "burst": "burst 10000000000 is too large to be counted exactly over 3600000 ms: "
                "use at most 2501999792, or a shorter period."
            },
        ),
        (
            LOG,
            1_000_001,
            "60",
            None,
            1,
            {
                "limit": "limit 1000001 is more than sliding_window_log remembers: use at most "
                "1000000, or choose sliding_window_counter."
            },
        ),
        (
            GCRA,
            10,
            "60",
            3,
            4,
            {
                "cost": "cost 4 can never fit, since at most 3 fit at once: use at most 3, or "
                "raise burst to 4."
            },
        ),
        (
            WINDOW,
            3,
            "60",
            None,
            4,
            {
                "cost": "cost 4 can never fit, since at most 3 fit at once: use at most 3, or "
                "raise limit to 4."
            },
        ),
    ],
)
def test_numbers(algorithm, limit, period, burst, cost, problems):
    assert dict(number_problems(algorithm, limit, Decimal(period), burst, cost)) == problems


def test_a_burst_must_come_back_within_ten_years():
    most = 315_360_000
    assert list(number_problems("gcra", 1, Decimal(1), most)) == []
    assert list(number_problems("gcra", 1, Decimal(1), most + 1)) == [
        (
            "burst",
            "burst 315360001 would take more than ten years to come back: use at most 315360000, "
            "or a higher limit.",
        )
    ]
