"""The admin: nobody's edit is lost, everything is in the history, and who may not cannot."""

import re
from decimal import Decimal
from html.parser import HTMLParser

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from ratelimit_app import limiter
from ratelimit_app.admin import forms
from ratelimit_app.admin import policy as page
from ratelimit_app.models import Policy
from ratelimit_app.stores import Unavailable

pytestmark = pytest.mark.django_db

LIST = reverse("admin:ratelimit_app_policy_changelist")
ADD = reverse("admin:ratelimit_app_policy_add")


def url(name, policy):
    return reverse(f"admin:ratelimit_app_policy_{name}", args=[policy.pk])


def make(slug, **fields):
    return Policy.objects.create(**{"slug": slug, "limit": 10, "period": Decimal(60), **fields})


def staff(*permissions):
    """A browser of a member of staff who may do this and nothing else."""
    user = User.objects.create_user(f"staff{User.objects.count()}", is_staff=True)
    names = [f"{each}_policy" for each in permissions]
    user.user_permissions.set(Permission.objects.filter(codename__in=names))
    client = Client()
    client.force_login(user)
    return client


class Fields(HTMLParser):
    """What a browser would send of a page: (name, value) of every field, ticked or filled."""

    def __init__(self, html):
        super().__init__()
        self.sent = []
        self._select = self._text = None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        name, kind = given.get("name"), given.get("type", "text")
        if tag == "select":
            self._select = name
        elif tag == "option" and "selected" in given and self._select:
            self.sent.append((self._select, given["value"]))
        elif tag == "textarea":
            self._text = name
            self.sent.append((name, ""))
        elif tag == "input" and name and kind in ("text", "number", "hidden"):
            self.sent.append((name, given.get("value", "")))
        elif tag == "input" and name and kind in ("checkbox", "radio") and "checked" in given:
            self.sent.append((name, given.get("value", "on")))

    def handle_endtag(self, tag):
        if tag == "select":
            self._select = None
        elif tag == "textarea":
            self._text = None

    def handle_data(self, data):
        if self._text is not None:
            name, value = self.sent[-1]
            self.sent[-1] = (name, (value + data).removeprefix("\n"))


def form_of(response):
    """The fields of the page's own form, to be changed and sent."""
    data: dict[str, list[str]] = {}
    for name, value in Fields(response.content.decode()).sent:
        data.setdefault(name, []).append(value)
    for name in ("q", "action", "index", "select_across"):
        data.pop(name, None)
    return data


def row_of(data, policy):
    """The prefix of a policy's row in the list."""
    (prefix,) = [
        match[1]
        for name, value in data.items()
        if (match := re.fullmatch(r"(form-\d+)-id", name)) and value == [str(policy.pk)]
    ]
    return prefix


def edit(data, policy, **fields):
    return {**data, **{f"{row_of(data, policy)}-{name}": [value] for name, value in fields.items()}}


def save_list(client, data):
    return client.post(LIST, {**data, "_save": ["Save"]})


def told(response):
    return [str(message) for message in response.context["messages"]]


def history(policy):
    entries = LogEntry.objects.filter(object_id=str(policy.pk)).order_by("pk")
    return [(entry.user.username, entry.get_change_message()) for entry in entries]


def numbers():
    return {each.slug: (each.mode, each.limit) for each in Policy.objects.order_by("slug")}


# The list, with two operators in it (case C4).


def test_list_shows_what_a_policy_does(admin_client):
    make("login", burst=5, key="header", key_name="X-API-Key", path="/in/**", methods=["POST"])
    make("off", limit=0, mode="off")
    html = admin_client.get(LIST).content.decode()
    cells = re.findall(r'<td class="field-(rate|algorithm|who|where)">(.*?)</td>', html)
    assert cells == [
        ("rate", "10 per minute, bursts of 5"),
        ("algorithm", "gcra"),
        ("who", "header X-API-Key"),
        ("where", "POST /in/**"),
        ("rate", "nothing: all refused"),
        ("algorithm", "gcra"),
        ("who", "client address"),
        ("where", "where code names it"),
    ]


@pytest.mark.parametrize(
    ("query", "slugs"),
    [
        ("?q=kitchen", ["a"]),
        ("?q=/shop", ["b"]),
        ("?mode__exact=off", ["b"]),
        ("?algorithm__exact=fixed_window", ["c"]),
        ("?key__exact=user", ["a"]),
        ("?on_error__exact=closed", ["c"]),
    ],
)
def test_list_is_searched_and_filtered(admin_client, query, slugs):
    make("a", description="of the kitchen", key="user")
    make("b", path="/shop/**", mode="off")
    make("c", algorithm="fixed_window", on_error="closed")
    response = admin_client.get(LIST + query)
    assert [each.slug for each in response.context["cl"].result_list] == slugs


def test_list_edit_writes_only_what_was_changed_in_the_rows_that_were_changed(admin_client):
    first, second = make("first"), make("second")
    data = form_of(admin_client.get(LIST))
    Policy.objects.filter(pk=second.pk).update(limit=50, mode="shadow", slug="a-second")
    response = save_list(admin_client, edit(data, first, limit="20"))
    assert response.status_code == 302
    assert numbers() == {"first": ("enforce", 20), "a-second": ("shadow", 50)}
    assert history(first) == [("admin", "Changed limit from 10 to 20.")]
    assert history(second) == []


def test_list_edit_of_a_row_that_was_changed_meanwhile_is_told_and_loses_nothing(admin_client):
    first, second = make("first"), make("second")
    data = form_of(admin_client.get(LIST))
    Policy.objects.filter(pk=second.pk).update(limit=50, mode="shadow")
    response = save_list(admin_client, edit(edit(data, first, limit="20"), second, limit="30"))
    assert response.status_code == 200
    assert numbers() == {"first": ("enforce", 10), "second": ("shadow", 50)}
    assert [form.non_field_errors() for form in response.context["cl"].formset] == [
        [],
        [
            "'second' was changed by somebody else since you opened this page, and your change is "
            "not saved. Where you changed it, it now has: limit 50. Save again to put your values "
            "there, or reload the page to see all of it."
        ],
    ]
    # Told, and saved again: now it is meant; the mode that A left alone stays B's.
    response = save_list(admin_client, form_of(response))
    assert response.status_code == 302
    assert numbers() == {"first": ("enforce", 20), "second": ("shadow", 30)}
    assert history(second) == [("admin", "Changed limit from 50 to 30.")]


def test_list_edit_is_judged_with_what_the_others_wrote(admin_client):
    """With the limit that the page showed, 10, the cost could never fit."""
    policy = make("upload")
    data = edit(form_of(admin_client.get(LIST)), policy, mode="shadow")
    Policy.objects.update(limit=50, cost=30)
    response = save_list(admin_client, data)
    assert response.status_code == 200
    assert save_list(admin_client, form_of(response)).status_code == 302
    assert numbers() == {"upload": ("shadow", 50)}


@pytest.mark.parametrize("touched", [False, True])
def test_list_edit_when_a_row_was_deleted_meanwhile(admin_client, touched):
    first, gone, last = make("first"), make("gone"), make("last")
    data = edit(form_of(admin_client.get(LIST)), last, limit="20")
    if touched:
        data = edit(data, gone, limit="30", mode="off")
    Policy.objects.filter(pk=gone.pk).delete()
    response = save_list(admin_client, data)
    if touched:
        assert response.status_code == 200
        assert numbers() == {"first": ("enforce", 10), "last": ("enforce", 10)}
        assert response.context["cl"].formset.non_form_errors() == [
            "A policy that you changed (to mode off, limit 30) was deleted by somebody else "
            "meanwhile. Nothing is saved yet: save again to save the rest."
        ]
        assert [each.slug for each in response.context["cl"].result_list] == ["first", "last"]
        response = save_list(admin_client, form_of(response))
    assert response.status_code == 302
    assert numbers() == {"first": ("enforce", 10), "last": ("enforce", 20)}
    assert [history(each) for each in (first, last)] == [
        [],
        [("admin", "Changed limit from 10 to 20.")],
    ]


def test_list_shows_a_form_with_errors_in_its_own_row_though_rows_moved(admin_client):
    first, second = make("first"), make("second")
    data = form_of(admin_client.get(LIST))
    Policy.objects.filter(pk=second.pk).update(slug="a-second")
    make("before-all", limit=1)
    response = save_list(admin_client, edit(data, second, limit="-1"))
    assert response.status_code == 200
    shown = response.context["cl"]
    assert [each.slug for each in shown.result_list] == ["first", "a-second"]
    assert [form.instance.pk for form in shown.formset] == [first.pk, second.pk]
    assert numbers()["a-second"] == ("enforce", 10)


def test_list_tells_of_a_rule_about_a_field_that_is_not_in_it(admin_client):
    policy = make("upload", cost=5)
    data = edit(form_of(admin_client.get(LIST)), policy, limit="4")
    response = save_list(admin_client, data)
    assert response.status_code == 200
    assert response.context["cl"].formset[0].non_field_errors() == [
        "cost 5 can never fit, since at most 4 fit at once: use at most 4, or raise limit to 5."
    ]
    assert numbers() == {"upload": ("enforce", 10)}


def test_list_edit_ignores_what_is_wrong_in_a_row_left_alone(admin_client):
    make("bad", cost=99)
    good = make("good")
    data = edit(form_of(admin_client.get(LIST)), good, mode="off", period="30")
    assert save_list(admin_client, data).status_code == 302
    assert history(good) == [("admin", "Changed mode from enforce to off, period from 60 to 30.")]


def test_list_edit_by_a_script_that_shows_no_revision_is_taken_as_it_stands(admin_client):
    policy = make("login")
    data = {"form-TOTAL_FORMS": 1, "form-INITIAL_FORMS": 1, "form-0-id": policy.pk}
    data |= {"form-0-mode": "shadow", "form-0-limit": 10, "form-0-period": 60}
    assert save_list(admin_client, data).status_code == 302
    assert history(policy) == [("admin", "Changed mode from enforce to shadow.")]


@pytest.mark.parametrize("where", ["list", "page"])
def test_two_saves_in_the_same_moment(admin_client, monkeypatch, where):
    """The row is written between the check of the form and its save.

    Here in the same transaction, so that it is rolled back with the save.
    """
    policy = make("login")
    address = LIST if where == "list" else url("change", policy)
    data = form_of(admin_client.get(address))
    data = edit(data, policy, limit="20") if where == "list" else {**data, "limit": ["20"]}

    def save(obj, names):
        Policy.objects.filter(pk=policy.pk).update(mode="off")
        forms.save_changes(obj, names)

    monkeypatch.setattr(page, "save_changes", save)
    response = admin_client.post(address, {**data, "_save": ["Save"]}, follow=True)
    assert told(response) == [page._STALE]
    assert numbers() == {"login": ("enforce", 10)}
    assert history(policy) == []


# The page of one policy.


def test_page_makes_a_policy(admin_client):
    data = form_of(admin_client.get(ADD))
    data |= {"slug": ["API-Search"], "limit": ["5"], "period": ["60"], "methods": ["GET", "PUT"]}
    response = admin_client.post(ADD, data)
    assert response.status_code == 302, response.context["errors"]
    policy = Policy.objects.get()
    assert (policy.slug, policy.methods, policy.algorithm) == ("api-search", ["GET", "PUT"], "gcra")
    assert history(policy) == [("admin", "Added.")]


def test_page_changes_a_policy(admin_client):
    policy = make("login", methods=["POST"], description="why\nso")
    address = url("change", policy)
    data = form_of(admin_client.get(address))
    data |= {"methods": [], "burst": ["5"], "algorithm": ["token_bucket"]}
    assert admin_client.post(address, data).status_code == 302
    policy.refresh_from_db()
    assert (policy.methods, policy.burst, policy.description) == ([], 5, "why\nso")
    assert history(policy) == [
        (
            "admin",
            "Changed burst from (empty) to 5, algorithm from gcra to token_bucket, "
            "methods from ['POST'] to (empty).",
        )
    ]


def test_page_saved_as_it_is_writes_nothing(admin_client):
    policy = make("login", methods=["POST"], description="why")
    address = url("change", policy)
    assert admin_client.post(address, form_of(admin_client.get(address))).status_code == 302
    assert Policy.objects.get().revision == policy.revision


def test_page_of_a_policy_that_was_changed_meanwhile(admin_client):
    policy = make("login", methods=["POST"])
    address = url("change", policy)
    data = {**form_of(admin_client.get(address)), "limit": ["20"]}
    Policy.objects.update(limit=50, methods=["PUT"])
    response = admin_client.post(address, data)
    assert response.status_code == 200
    assert response.context["adminform"].form.non_field_errors() == [
        "'login' was changed by somebody else since you opened this page, and your change is not "
        "saved. Where you changed it, it now has: limit 50. Save again to put your values there, "
        "or reload the page to see all of it."
    ]
    assert admin_client.post(address, form_of(response)).status_code == 302
    policy.refresh_from_db()
    assert (policy.limit, policy.methods) == (20, ["PUT"])


def test_page_explains_each_algorithm_where_it_is_chosen(admin_client):
    html = admin_client.get(ADD).content.decode()
    labels = re.findall(r'name="algorithm" value="(\w+)".*?>\s*(.*?)</label>', html, re.DOTALL)
    assert [name for name, text in labels if len(text) > 60] == [
        "fixed_window",
        "sliding_window_log",
        "sliding_window_counter",
        "token_bucket",
        "leaky_bucket",
        "gcra",
    ]


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"limit": ["-1"]}, {"limit"}),
        ({"path": ["^/(a+)+$"]}, {"path"}),
        ({"burst": ["10"], "algorithm": ["fixed_window"]}, {"burst"}),
        ({"key": ["header"]}, {"key_name"}),
        ({"slug": ["OTHER"]}, {"slug"}),
        ({"period": ["0"]}, {"period"}),
    ],
)
def test_page_refuses_what_cannot_work(admin_client, fields, errors):
    make("other")
    data = form_of(admin_client.get(ADD)) | {"slug": ["x"], "limit": ["5"], "period": ["60"]}
    response = admin_client.post(ADD, data | fields)
    assert response.status_code == 200
    assert set(response.context["adminform"].form.errors) == errors


# Actions.


@pytest.mark.parametrize(
    ("action", "mode"), [("enforce", "enforce"), ("shadow", "shadow"), ("switch_off", "off")]
)
def test_action_sets_the_mode_and_leaves_a_trace(admin_client, action, mode):
    policies = [make(name, mode=name) for name in ("enforce", "shadow", "off")]
    chosen = [each.pk for each in policies]
    response = admin_client.post(
        LIST, {"action": action, "_selected_action": chosen, "index": 0}, follow=True
    )
    assert told(response) == [f"2 of 3 changed to {mode}."]
    assert [history(each) for each in policies] == [
        [] if each.mode == mode else [("admin", f"Changed mode from {each.mode} to {mode}.")]
        for each in policies
    ]
    assert set(Policy.objects.values_list("mode", flat=True)) == {mode}


# To reset.


@pytest.fixture
def resets(monkeypatch):
    """What was asked of the limiter; append an exception to `fails` to have it raised."""
    found = []

    def reset(slug, *, key):
        found.append((slug, key))
        if fails:
            raise fails[0]

    fails: list[Exception] = []
    monkeypatch.setattr(limiter, "reset", reset)
    return found, fails


@pytest.mark.parametrize(
    ("key", "key_name", "value", "entry"),
    [
        ("ip", "", "192.0.2.1", "Reset the bucket of 192.0.2.1."),
        ("user", "", "42", "Reset the bucket of 42."),
        ("header", "X-API-Key", "secret-of-somebody", "Reset the bucket of one key."),
        ("session", "", "abcdefgh", "Reset the bucket of one key."),
    ],
)
def test_reset_one(admin_client, resets, key, key_name, value, entry):
    policy = make("login", key=key, key_name=key_name)
    response = admin_client.post(url("reset", policy), {"key": value})
    assert (response.status_code, response.url) == (302, url("change", policy))
    assert resets[0] == [("login", value)]
    assert history(policy) == [("admin", entry)]
    assert Policy.objects.get().generation == 0


@pytest.mark.parametrize(("key", "data"), [("ip", {"key": ""}), ("ip", {}), ("global", {})])
def test_reset_everyone(admin_client, resets, key, data):
    policy = make("login", key=key)
    assert admin_client.post(url("reset", policy), data).status_code == 302
    assert resets[0] == []
    after = Policy.objects.get()
    assert (after.generation, after.revision != policy.revision) == (1, True)
    assert history(policy) == [("admin", "Reset all buckets.")]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            limiter.UnknownPolicy("There is no policy 'login'; there are: none."),
            "There is no policy 'login'; there are: none. A policy that was made just now is known "
            "within a second: try again.",
        ),
        (ValueError("'x' is no address."), "'x' is no address."),
        (
            Unavailable("timed out"),
            "The store did not answer (timed out): nothing may have been reset. Try again.",
        ),
    ],
)
def test_reset_that_fails_is_told(admin_client, resets, error, message):
    policy = make("login")
    resets[1].append(error)
    response = admin_client.post(url("reset", policy), {"key": "192.0.2.1"})
    assert (response.status_code, told(response)) == (200, [message])
    assert history(policy) == []


def test_reset_is_linked_and_asks_first(admin_client, resets):
    policy = make("login")
    address = url("reset", policy)
    assert f'href="{address}"' in admin_client.get(url("change", policy)).content.decode()
    assert "Address" in admin_client.get(address).content.decode()
    assert resets[0] == []
    policy.delete()
    assert admin_client.get(address).status_code == 404


def test_reset_wants_the_token_against_forgery(admin_user, resets):
    policy = make("login")
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)
    assert client.post(url("reset", policy), {"key": "192.0.2.1"}).status_code == 403
    assert resets[0] == []


# Who may what.

OK, DONE, NO = 200, 302, 403


@pytest.mark.parametrize(
    ("permissions", "answers"),
    [
        ((), [NO] * 8),
        (("view",), [OK, OK, NO, NO, NO, NO, NO, NO]),
        (("change",), [OK, OK, DONE, DONE, NO, NO, NO, NO]),
        (
            ("add",),
            [NO, NO, NO, NO, DONE, NO, NO, NO],
        ),
        (
            ("delete",),
            [NO, NO, NO, NO, NO, DONE, NO, NO],
        ),
        (
            ("reset",),
            [NO, NO, NO, NO, NO, NO, DONE, DONE],
        ),
    ],
)
def test_permissions(permissions, answers, resets):
    client, policy = staff(*permissions), make("login")
    row = {"form-TOTAL_FORMS": 1, "form-INITIAL_FORMS": 1, "form-0-id": policy.pk, "_save": 1}
    row |= {"form-0-mode": "off", "form-0-limit": 10, "form-0-period": 60}
    one = {"slug": "other", "mode": "shadow", "limit": 1, "period": 1, "algorithm": "gcra"}
    one |= {"key": "ip", "cost": 1, "on_error": "open"}
    asked = [
        client.get(LIST),
        client.get(url("change", policy)),
        client.post(LIST, row),
        client.post(url("change", policy), one),
        client.post(ADD, one | {"slug": "new"}),
        client.post(url("reset", policy), {"key": "192.0.2.1"}),
        client.post(url("reset", policy), {}),
    ]
    asked.insert(5, client.post(url("delete", policy), {"post": "yes"}))
    assert [response.status_code for response in asked] == answers


@pytest.mark.parametrize("permissions", [("view",), ("view", "reset")])
@pytest.mark.parametrize("action", ["enforce", "shadow", "switch_off", "delete_selected"])
def test_who_may_only_look_runs_no_action(permissions, action):
    client, policy = (
        staff(*permissions),
        make("login", mode="shadow" if action == "enforce" else "off"),
    )
    if action == "switch_off":
        Policy.objects.update(mode="enforce")
    before = Policy.objects.values().get()
    data = {"action": action, "_selected_action": [policy.pk], "index": 0, "post": "yes"}
    response = client.post(LIST, data)
    assert response.status_code in (200, 302)
    assert Policy.objects.values().get() == before
    assert LogEntry.objects.count() == 0


def test_who_may_only_look_is_offered_nothing_to_change():
    policy = make("login")
    client = staff("view")
    for address in (LIST, url("change", policy)):
        html = client.get(address).content.decode()
        assert 'name="_save"' not in html
        assert "/reset/" not in html
        assert 'name="action"' not in html
