"""`manage.py ratelimit`: list, show, check, reset, reload; their help and their errors."""

import json

import pytest
from django.contrib.auth import get_user_model
from django.core.management.base import CommandError

from ratelimit_app import limiter
from ratelimit_app.management.commands.ratelimit import COMMANDS
from ratelimit_app.models import Policy

LOGIN = {"slug": "login", "limit": 3, "period": 60, "path": "/sync/"}


@pytest.fixture
def login(db):
    return Policy.objects.create(**LOGIN, description="Ask\nOlga.")


def values(text: str) -> dict[str, str]:
    """Lines of `name: value`."""
    pairs = (line.partition(": ") for line in text.splitlines())
    return {name: value.strip() for name, _, value in pairs}


# Help


@pytest.mark.parametrize("name", COMMANDS)
def test_help(ratelimit, capsys, name):
    with pytest.raises(SystemExit) as ended:
        ratelimit(name, "--help")
    assert ended.value.code == 0
    assert f"\n  manage.py ratelimit {name}" in capsys.readouterr().out


def test_help_lists_all(ratelimit, capsys):
    with pytest.raises(SystemExit):
        ratelimit("--help")
    said = " ".join(capsys.readouterr().out.split())
    for name, command in COMMANDS.items():
        assert f"{name} {command.HELP}" in said


def test_no_sub_command(ratelimit):
    with pytest.raises(CommandError, match="COMMAND"):
        ratelimit()


def test_options_of_every_command_may_stand_last(process):
    ran = process("reload", "--verbosity", "2", "--settings", "command_settings", "--no-color")
    assert ran.communicate()[1] == ""
    assert ran.returncode == 0


# List


@pytest.mark.django_db
def test_list(ratelimit, login):
    Policy.objects.create(
        slug="api",
        mode="shadow",
        algorithm="token_bucket",
        limit=100,
        period="1.5",
        burst=200,
        key="header",
        key_name="X-API-Key",
        path="shop:*",
        methods=["PUT", "POST"],
        on_error="closed",
    )
    Policy.objects.create(slug="shut", limit=0, period=60, mode="off")
    assert ratelimit("list").out.splitlines() == [
        "slug   mode     algorithm     limit                       key               "
        "where                on_error",
        "api    shadow   token_bucket  100 per 1.5 s, 200 at once  header X-API-Key  "
        "POST,PUT shop:*      closed",
        "login  enforce  gcra          3 per minute                ip                "
        "/sync/               open",
        "shut   off      gcra          0 (refuses everything)      ip                "
        "where code names it  open",
    ]


@pytest.mark.django_db
def test_list_of_none(ratelimit):
    assert ratelimit("list").out == "There are no policies. Add one in the admin.\n"


def test_list_without_a_table(process):
    listed = process("list", POLICIES=json.dumps([LOGIN]))
    out, err = listed.communicate()
    assert listed.returncode == 0
    assert "login  enforce  gcra       3 per minute" in out
    assert "no such table" in out
    assert "manage.py migrate" in out
    assert "Traceback" not in err


# Show


@pytest.mark.usefixtures("login")
def test_show(ratelimit):
    assert values(ratelimit("show", "login").out) == {
        "slug": "login",
        "description": "Ask Olga.",
        "mode": "enforce (refuses what is too much)",
        "algorithm": "gcra",
        "limit": "3 per minute",
        "capacity": "3 at once after a quiet time",
        "period": "60 s",
        "key": "ip (client address)",
        "where": "/sync/",
        "methods": "all but OPTIONS",
        "cost": "1 a request, unless code says otherwise",
        "on_error": "open: let everyone through",
        "ask_always": "no: who was just refused is refused without asking, for a second at most",
        "lease": "1: exact, a trip for each request",
    }


@pytest.mark.usefixtures("login")
def test_show_a_bucket(ratelimit, on_redis):
    said = values(ratelimit("show", "login", "--key", "192.0.2.7").out)
    assert said["bucket of 192.0.2.7"] == "3 of 3 left"
    assert said["as fresh"] == "now: nothing is spent"
    limiter.take("login", key="192.0.2.7", cost=2)
    for _ in range(2):
        said = values(ratelimit("show", "login", "--key", "192.0.2.7").out)
        assert said["bucket of 192.0.2.7"] == "1 of 3 left"
        assert said["as fresh"].startswith(("in 40 s", "in 39."))


@pytest.mark.usefixtures("login")
def test_show_says_whose_memory(ratelimit):
    assert "of this process" in ratelimit("show", "login", "--key", "192.0.2.7").err


@pytest.mark.django_db
def test_show_what_is_not_counted(ratelimit, settings):
    Policy.objects.create(slug="off", limit=3, period=60, mode="off", key="global")
    assert values(ratelimit("show", "off", "--key", "").out)["bucket"] == (
        "not used: the policy is off"
    )
    settings.RATELIMIT = {"ENABLED": False}
    assert "ENABLED" in values(ratelimit("show", "off", "--key", "").out)["bucket"]


# Check


@pytest.mark.usefixtures("login")
def test_check(ratelimit, on_redis):
    for _ in range(2):
        said = ratelimit("check", "post", "/sync/?next=/", "--ip", "192.0.2.7").out.splitlines()
        assert said == [
            "POST /sync/ from 192.0.2.7, not logged in",
            "View: sync",
            "policy  mode     limit         counted as    left after  now",
            "login   enforce  3 per minute  ip 192.0.2.7  2 of 3      allows",
            "It would be allowed. (Nothing was spent.)",
        ]
    limiter.take("login", key="192.0.2.7", cost=3)
    said = ratelimit("check", "/sync/", "--ip", "192.0.2.7").out.splitlines()
    assert "0 of 3" in said[3]
    assert "refuses; allows in " in said[3]
    assert said[4].startswith("It would be refused (429), to be tried again in ")
    # Another client has a bucket of its own.
    assert "It would be allowed." in ratelimit("check", "/sync/", "--ip", "192.0.2.8").out


@pytest.mark.django_db
def test_check_by_user(ratelimit):
    user = get_user_model().objects.create_user("olga")
    Policy.objects.create(slug="mine", limit=3, period=60, path="shop:*", key="user")
    said = ratelimit("check", "/shop/items/1/", "--user", str(user.pk)).out
    assert "logged in as olga" in said
    assert "View: shop:item" in said
    assert f"user {user.pk}" in said
    assert "does not apply: no user" in ratelimit("check", "/shop/items/1/").out


@pytest.mark.django_db
def test_check_a_path_without_a_view(ratelimit):
    Policy.objects.create(slug="all", limit=3, period=60, path="/**")
    Policy.objects.create(slug="view", limit=3, period=60, path="sync")
    said = ratelimit("check", "/nowhere").out
    assert "View: none (404), so only policies with a path apply\n" in said
    assert "all " in said
    assert "did you mean that?" in ratelimit("check", "/sync").out
    assert "view " in ratelimit("check", "/sync/").out


@pytest.mark.django_db
def test_check_without_policies(ratelimit, settings):
    assert "No policy applies" in ratelimit("check", "/sync/").out
    settings.RATELIMIT = {"ENABLED": False}
    assert "Nothing is limited" in ratelimit("check", "/sync/").out


@pytest.mark.django_db
def test_check_what_never_fits_what_is_shadow_and_what_fails(ratelimit, settings):
    make = Policy.objects.create
    make(slug="costly", limit=3, period=60, path="/sync/", cost=5, mode="shadow")
    make(slug="shop", limit=3, period=60, path="/sync/", key="function", key_name="tests.no.such")
    said = ratelimit("check", "/sync/").out
    assert "would refuse, but is in shadow, always: cost 5 never fits" in said
    assert "the key failed (ModuleNotFoundError" in said
    assert "It would be allowed." in said
    make(slug="shut", limit=0, period=60, path="/sync/")
    said = ratelimit("check", "/sync/").out
    assert "not asked: another policy refuses everything" in said
    assert "It would be refused (429), however long it waits." in said


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "fix"),
    [
        (["sync/"], "begin with a slash"),
        (["/sync/", "GET"], "no method"),
        (["/sync/", "--ip", "localhost"], "'localhost' is no address"),
        (["/sync/", "--user", "7"], "no such user"),
        (["/sync/", "--user", "olga"], "Give a primary key"),
    ],
)
def test_check_refuses(ratelimit, arguments, fix):
    with pytest.raises(CommandError, match=fix):
        ratelimit("check", *arguments)


# Reset


@pytest.mark.usefixtures("login", "on_redis")
def test_reset_one_bucket(ratelimit):
    for key in ("192.0.2.7", "192.0.2.8"):
        limiter.take("login", key=key)
    assert ratelimit("reset", "login", "--key", "192.0.2.7").err == ""
    assert limiter.peek("login", key="192.0.2.7", cost=0).remaining == 3
    assert limiter.peek("login", key="192.0.2.8", cost=0).remaining == 2


@pytest.mark.parametrize("store", ["memory", "redis"])
def test_reset_all(ratelimit, login, request, store):
    if store == "redis":
        request.getfixturevalue("on_redis")
    for key in ("192.0.2.7", "192.0.2.8"):
        limiter.take("login", key=key)
    ratelimit("reset", "login", "--all")
    for key in ("192.0.2.7", "192.0.2.8"):
        assert limiter.peek("login", key=key, cost=0).remaining == 3
    login.refresh_from_db()
    assert login.generation == 1


@pytest.mark.usefixtures("login")
def test_reset_in_memory_says_whose(ratelimit):
    limiter.take("login", key="192.0.2.9")
    assert "reset login --all" in ratelimit("reset", "login", "--key", "192.0.2.9").err
    assert limiter.peek("login", key="192.0.2.9", cost=0).remaining == 3


@pytest.mark.usefixtures("on_redis")
@pytest.mark.django_db
def test_reset_the_one_bucket_of_all(ratelimit):
    Policy.objects.create(slug="site", limit=3, period=60, key="global")
    limiter.take("site")
    ratelimit("reset", "site")
    assert limiter.peek("site", cost=0).remaining == 3
    with pytest.raises(CommandError, match="Leave --key out"):
        ratelimit("reset", "site", "--key", "x")


# Reload


@pytest.mark.usefixtures("on_redis")
@pytest.mark.django_db
def test_reload(ratelimit):
    from ratelimit_app import stores

    before = stores.current().version()
    assert "within 0.5 s" in ratelimit("reload").out
    assert stores.current().version() != before


def test_reload_in_memory(ratelimit):
    said = ratelimit("reload").out
    assert "none can be told" in said
    assert "every 30 s" in said


# Errors


@pytest.mark.usefixtures("login")
@pytest.mark.parametrize(
    ("arguments", "fix"),
    [
        (["show", "nope"], "no policy 'nope'; there are: login"),
        (["reset", "nope", "--key", "192.0.2.7"], "no policy 'nope'"),
        (["reset", "nope", "--all"], "no policy 'nope'"),
        (["replay", "x", "--policy", "nope"], "no policy 'nope'"),
        (["show", "login", "--key", "olga"], "'olga' is no address"),
        (["show", "login", "--key", ""], "say which"),
        (["reset", "login", "--key", "olga"], "'olga' is no address"),
        (["reset", "login"], "--all for everybody"),
        (["reset", "login", "--all", "--key", "192.0.2.7"], "not allowed with"),
    ],
)
def test_refused(ratelimit, arguments, fix):
    with pytest.raises(CommandError, match=fix):
        ratelimit(*arguments)


@pytest.mark.usefixtures("login", "no_redis")
@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "login", "--key", "192.0.2.7"],
        ["reset", "login", "--key", "192.0.2.7"],
        ["check", "/sync/"],
        ["reload"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_store_does_not_answer(ratelimit, arguments):
    with pytest.raises(CommandError, match=r"'default'.* did not answer .*LOCATION"):
        ratelimit(*arguments)


def test_settings_that_cannot_be_used(ratelimit, settings):
    settings.RATELIMIT = {"CACHE": "nowhere"}
    with pytest.raises(CommandError, match="nowhere"):
        ratelimit("reload")


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "login"],
        ["reset", "login", "--all"],
        ["reset", "login", "--key", "192.0.2.7"],
        ["replay", "x", "--policy", "login"],
    ],
)
def test_no_table(process, arguments):
    ran = process(*arguments)
    out, err = ran.communicate()
    assert ran.returncode == 1
    assert out == ""
    assert "no such table" in err.splitlines()[-1]
    assert "run manage.py migrate" in err.splitlines()[-1]
    assert "Traceback" not in err
