"""The table: what the database refuses, and that every write is noticed."""

import json
from decimal import Decimal

import pytest
from asgiref.sync import async_to_sync
from django.core import serializers
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.db.models import F

from ratelimit_app.declared import unsaved_policy
from ratelimit_app.keys import KEYS
from ratelimit_app.models import Policy
from ratelimit_app.signals import one_signal, policies_changed

pytestmark = pytest.mark.django_db


def make(slug="login", **fields):
    return Policy(**{"slug": slug, "limit": 10, "period": Decimal(60), **fields})


GOOD = {
    "slug": "login",
    "description": "",
    "mode": "enforce",
    "algorithm": "gcra",
    "limit": 10,
    "period": "60.000",
    "burst": None,
    "key": "ip",
    "key_name": "",
    "path": "",
    "methods": "[]",
    "cost": 1,
    "on_error": "open",
    "generation": 0,
    "revision": 1,
}


def insert(**fields):
    row = {**GOOD, **fields}
    columns = ", ".join(connection.ops.quote_name(name) for name in row)
    marks = ", ".join(["%s"] * len(row))
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO ratelimit_app_policy ({columns}) VALUES ({marks})", list(row.values())
        )


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"limit": 0},
        {"limit": 1, "period": "0.001", "burst": 1},
        {"limit": 1001, "period": "1.001", "burst": 1},
        {"limit": 28561, "period": "315360000"},
        {"limit": 2**53 - 1, "period": "0.001"},
        {"limit": 5000, "period": "1", "burst": 5},
        {"algorithm": "sliding_window_log", "limit": 1_000_000},
        {"algorithm": "an_algorithm_to_come", "burst": 5},
        {"key": "header", "key_name": "X-API-Key"},
        {"mode": "shadow", "on_error": "local"},
    ],
)
def test_raw_sql_may(fields):
    insert(**fields)
    policy = Policy.objects.get()
    assert {name: getattr(policy, name) for name in fields} == {
        name: Decimal(value) if name == "period" else value for name, value in fields.items()
    }


@pytest.mark.parametrize(
    "fields",
    [
        {"slug": "Login"},
        {"mode": "maybe"},
        {"algorithm": ""},
        {"key": ""},
        {"key": "header"},
        {"key": "function"},
        {"key_name": "X-API-Key"},
        {"on_error": ""},
        {"cost": 0},
        {"limit": -1},
        {"period": "0"},
        {"period": "-1"},
        {"period": "315360000.001"},
        {"burst": 0},
        {"burst": 10, "algorithm": "fixed_window"},
        {"burst": 10, "algorithm": "sliding_window_log"},
        {"burst": 10, "algorithm": "sliding_window_counter"},
        {"limit": 5001, "period": "1", "burst": 5},
        {"limit": 28562, "period": "315360000"},
        {"limit": 2**53, "period": "0.001"},
        {"limit": 2**63 - 1, "period": "315360000"},
        {"burst": 2**63 - 1, "period": "315360000"},
        {"algorithm": "sliding_window_log", "limit": 1_000_001},
    ],
)
def test_raw_sql_may_not(fields):
    with pytest.raises(IntegrityError), transaction.atomic():
        insert(**fields)
    assert Policy.objects.count() == 0


@pytest.mark.parametrize("slug", ["login", "LOGIN"])
def test_a_slug_is_unique_whatever_its_case(slug):
    insert()
    with pytest.raises(IntegrityError), transaction.atomic():
        insert(slug=slug)
    with pytest.raises(ValidationError) as error:
        make(slug).full_clean()
    assert error.value.message_dict == {
        "slug": ["Another policy has this slug: choose another, or edit that one."]
    }


def test_clean_folds_the_slug():
    policy = make("API-Search")
    policy.full_clean()
    policy.save()
    assert Policy.objects.get_by_natural_key("api-search") == policy
    assert (str(policy), policy.natural_key()) == ("api-search", ("api-search",))


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        (
            {"limit": 3, "cost": 4},
            {
                "cost": [
                    "cost 4 can never fit, since at most 3 fit at once: use at most 3, or raise "
                    "limit to 4."
                ]
            },
        ),
        (
            {"period": Decimal(0), "burst": 0},
            {
                "period": ["period 0 is too short: use at least 0.001 seconds."],
                "burst": ["burst 0 is below 1: leave it empty to allow the limit at once."],
            },
        ),
        (
            {"key": "header"},
            {
                "key_name": [
                    "'' is no header: write its name as clients send it, with letters, digits and "
                    "hyphens, such as 'X-API-Key'."
                ]
            },
        ),
        ({"limit": "many"}, {"limit": ["“many” value must be an integer."]}),
        ({"period": None}, {"period": ["This field cannot be null."]}),
        (
            {"mode": "maybe"},
            {"mode": ["'maybe' is not known: choose one of enforce, shadow, off."]},
        ),
        (
            {"algorithm": "magic"},
            {
                "algorithm": [
                    "'magic' is not known: choose one of gcra, or of the others that the admin "
                    "offers."
                ]
            },
        ),
        (
            {"path": "/" + "a" * 500},
            {"path": ["Ensure this value has at most 500 characters (it has 501)."]},
        ),
    ],
)
def test_clean_complains_at_the_field(fields, errors):
    with pytest.raises(ValidationError) as error:
        make(**fields).full_clean()
    assert error.value.message_dict == errors


def test_the_database_agrees_with_what_clean_allows():
    make(limit=1001, period=Decimal("1.001"), burst=1).full_clean()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"limit": 100}, "100 per minute"),
        ({"limit": 100, "burst": 20}, "100 per minute, bursts of 20"),
        ({"limit": 0}, "nothing: all refused"),
        *(
            ({"limit": 5, "period": Decimal(period)}, f"5 per {words}")
            for period, words in {
                "1": "second",
                "0.500": "0.5 seconds",
                "90": "90 seconds",
                "100": "100 seconds",
                "120": "2 minutes",
                "5400": "90 minutes",
                "3600.000": "hour",
                "86400": "day",
                "172800": "2 days",
                "604800": "week",
                "315360000": "3650 days",
            }.items()
        ),
    ],
)
def test_rate_in_words(fields, words):
    assert make(**fields).rate_in_words == words


def test_unsaved_policy_asks_no_database(django_assert_num_queries):
    with django_assert_num_queries(0):
        policy = unsaved_policy({"slug": "Feed", "limit": 5, "period": 0.1, "methods": ["GET"]})
    assert (policy.slug, policy.period, policy.key) == ("feed", Decimal("0.1"), "ip")


@pytest.mark.parametrize(
    ("values", "messages"),
    [
        ({"slug": "a", "limit": 1.5, "period": 1}, ["limit 1.5 must be a whole number."]),
        ({"slug": "a", "limit": True, "period": 1}, ["limit True must be a whole number."]),
        (
            {"slug": "a", "limit": 1, "period": 0},
            ["period 0 is too short: use at least 0.001 seconds."],
        ),
        (
            {"slug": "a", "rate": "5/m"},
            [
                "A policy has no 'rate'; it has algorithm, ask_always, burst, cost, description, "
                "key, key_name, lease, limit, methods, mode, on_error, path, period, slug."
            ],
        ),
    ],
)
def test_unsaved_policy_is_strict(values, messages):
    with pytest.raises(ValidationError) as error:
        unsaved_policy(values)
    assert error.value.messages == messages


@pytest.fixture
def heard():
    """The signals so far, each with the slugs and limits that stood in the table when it came."""
    found = []

    def receive(using, **kwargs):
        found.append((using, dict(Policy.objects.values_list("slug", "limit"))))

    policies_changed.connect(receive)
    yield found
    policies_changed.disconnect(receive)


def wait(method, *args, **kwargs):
    async def run():
        await method(*args, **kwargs)

    async_to_sync(run)()


def change(policy, **fields):
    for name, value in fields.items():
        setattr(policy, name, value)
    return policy


def load(fixture):
    (policy,) = serializers.deserialize("json", fixture)
    policy.save()


def saved(slug="login"):
    return Policy.objects.get(slug=slug)


def upsert(**how):
    Policy.objects.bulk_create(
        [make(limit=5), make("feed", limit=5)], update_conflicts=True, unique_fields=["slug"], **how
    )


# Each way to write, beginning with a table of login and search at 10; and what stands there after.
WRITES = {
    "save": (lambda: change(saved(), limit=5).save(), {"login": 5, "search": 10}),
    "save update_fields": (
        lambda: change(saved(), limit=5, cost=9).save(update_fields=["limit"]),
        {"login": 5, "search": 10},
    ),
    "create": (
        lambda: Policy.objects.create(slug="feed", limit=5, period=1),
        {"login": 10, "search": 10, "feed": 5},
    ),
    "get_or_create": (
        lambda: Policy.objects.get_or_create(slug="feed", defaults={"limit": 5, "period": 1}),
        {"login": 10, "search": 10, "feed": 5},
    ),
    "update_or_create": (
        lambda: Policy.objects.update_or_create(slug="login", defaults={"limit": 5}),
        {"login": 5, "search": 10},
    ),
    "update": (lambda: Policy.objects.update(limit=5), {"login": 5, "search": 5}),
    "aupdate": (
        lambda: wait(Policy.objects.aupdate, limit=5),
        {"login": 5, "search": 5},
    ),
    "update F": (
        lambda: Policy.objects.filter(slug="login").update(limit=F("limit") + 1),
        {"login": 11, "search": 10},
    ),
    "bulk_create": (
        lambda: Policy.objects.bulk_create([make("a"), make("b"), make("c")], batch_size=1),
        {"login": 10, "search": 10, "a": 10, "b": 10, "c": 10},
    ),
    "abulk_create": (
        lambda: wait(Policy.objects.abulk_create, [make("a")]),
        {"login": 10, "search": 10, "a": 10},
    ),
    "bulk_create ignore": (
        lambda: Policy.objects.bulk_create(
            [make(limit=5), make("feed", limit=5)], ignore_conflicts=True
        ),
        {"login": 10, "search": 10, "feed": 5},
    ),
    "bulk_create upsert": (
        lambda: upsert(update_fields=["limit"]),
        {"login": 5, "search": 10, "feed": 5},
    ),
    "bulk_update": (
        lambda: Policy.objects.bulk_update(
            (change(policy, limit=5) for policy in Policy.objects.all()), ["limit"], batch_size=1
        ),
        {"login": 5, "search": 5},
    ),
    "abulk_update": (
        lambda: wait(Policy.objects.abulk_update, [change(saved(), limit=5)], ["limit"]),
        {"login": 5, "search": 10},
    ),
    "delete": (lambda: saved().delete(), {"search": 10}),
    "queryset delete": (lambda: Policy.objects.all().delete(), {}),
    "queryset adelete": (lambda: wait(Policy.objects.all().adelete), {}),
    "base manager": (lambda: Policy._base_manager.update(limit=5), {"login": 5, "search": 5}),
    "deserialized": (
        lambda: load(serializers.serialize("json", [change(saved(), limit=5)])),
        {"login": 5, "search": 10},
    ),
}


@pytest.mark.parametrize("way", WRITES)
def test_every_way_to_write_is_told_once_and_leaves_a_new_fingerprint(way, heard):
    Policy.objects.bulk_create([make(), make("search")])
    before = dict(Policy.objects.values_list("slug", "revision"))
    limits = dict(Policy.objects.values_list("slug", "limit"))
    heard.clear()
    write, after = WRITES[way]
    write()
    assert heard == [("default", after)]
    now = dict(Policy.objects.values_list("slug", "revision"))
    changed = {slug for slug in after if after[slug] != limits.get(slug)}
    assert {slug for slug in now if now[slug] != before.get(slug)} == changed


def test_loaddata(heard, tmp_path):
    """A fixture that is loaded twice, with another limit: its revision is not the old one's."""
    make().save()
    fixture = tmp_path / "policies.json"
    call_command(
        "dumpdata", "ratelimit_app", natural_primary=True, output=str(fixture), verbosity=0
    )
    (row,) = json.loads(fixture.read_text())
    assert "revision" not in row["fields"]
    row["fields"]["limit"] = 5
    fixture.write_text(json.dumps([row]))
    revision = saved().revision
    heard.clear()
    call_command("loaddata", str(fixture), verbosity=0)
    assert heard == [("default", {"login": 5})]
    assert saved().revision != revision


def test_one_signal_for_what_belongs_together(heard):
    with one_signal(Policy, "default"):
        make().save()
        make("search").save()
        Policy.objects.update(limit=3)
    assert heard == [("default", {"login": 3, "search": 3})]


def test_a_write_that_fails_is_not_told(heard):
    make().save()
    heard.clear()
    with pytest.raises(IntegrityError), transaction.atomic():
        Policy.objects.bulk_create([make("a"), make()])
    assert heard == []
    make("b").save()
    assert heard == [("default", {"login": 10, "b": 10})]


def test_the_manager_cannot_delete_everything_by_a_slip():
    assert not hasattr(Policy.objects, "delete")


def test_update_keeps_a_revision_that_is_given():
    make().save()
    Policy.objects.update(revision=7)
    assert saved().revision == 7


def test_a_new_kind_of_key_needs_no_migration():
    """The migration knows no kind by name, or each new one would change it."""
    (key,) = [field for field in Policy._meta.fields if field.name == "key"]
    *_, kwargs = key.deconstruct()
    told = str(kwargs["error_messages"])
    assert [kind for kind in KEYS if f" {kind}," in told or f" {kind} " in told] == ["ip"]
