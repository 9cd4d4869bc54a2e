"""Edits by another process, one after the other, while a server has 200 requests a second."""

import time
from typing import Any, NamedTuple

import pytest

from .load import Answer, Connection, Load, Numbers, connections

pytestmark = pytest.mark.alone

#: A day and more, so that nothing comes back meanwhile; windows are aligned to the epoch, so the
#: longer one of two that do not end together.
LONG = max((20_000_000, 31_000_000), key=lambda seconds: seconds - time.time() % seconds)
FIRST = f"""
Policy.objects.create(
    slug="edited", algorithm="fixed_window", limit=10, period={LONG},
    key="header", key_name="X-Who", path="/edited/",
)
"""


class Edit(NamedTuple):
    """The columns that are set, and what is left to a client that takes one more; None if off."""

    what: str
    columns: dict[str, Any]
    left: int | None


#: One client spends a unit after each edit; four of ten are spent at first.
EDITS = [
    Edit("raise", {"limit": 20}, 15),
    Edit("lower", {"limit": 8}, 2),
    Edit("lower below what is spent", {"limit": 3}, 0),
    Edit("raise again", {"limit": 12}, 5),
    Edit("another algorithm", {"algorithm": "token_bucket", "limit": 13}, 12),
    Edit("burst", {"burst": 5}, 3),
    Edit("a larger burst", {"burst": 26}, 23),
    Edit("period", {"period": 2 * LONG}, 22),
    Edit("a shorter period", {"period": LONG}, 21),
    Edit("leaky bucket", {"algorithm": "leaky_bucket", "limit": 14, "burst": None}, 13),
    Edit("leaky bucket, raised", {"limit": 15}, 13),
    Edit("gcra", {"algorithm": "gcra", "limit": 10}, 9),
    # A tenth of the period is spent, and half a unit more of twenty than of ten.
    Edit("gcra, raised", {"limit": 20}, 17),
    Edit("sliding log", {"algorithm": "sliding_window_log", "limit": 16}, 15),
    Edit("sliding log, lowered", {"limit": 4}, 2),
    Edit("sliding counter", {"algorithm": "sliding_window_counter", "limit": 17}, 16),
    Edit("sliding counter, lowered", {"limit": 5}, 3),
    Edit("key", {"key_name": "X-Other", "limit": 18}, 17),
    Edit("off", {"mode": "off"}, None),
    Edit("on again", {"mode": "enforce"}, 16),
    Edit("fixed window again", {"algorithm": "fixed_window", "limit": 19}, 18),
]


def numbers(columns: dict[str, Any]) -> Numbers | None:
    """The capacity, and the time in which all of it comes back."""
    if columns["mode"] == "off":
        return None
    limit, period = columns["limit"], columns["period"]
    capacity = columns["burst"] or limit
    return Numbers(capacity, -(capacity * period // -limit))


def check(answer: Answer) -> None:
    """A request is allowed or refused by somebody's numbers, and waits no longer than they say."""
    assert answer.status in (200, 429)
    if answer.numbers is None:
        assert (answer.status, answer.remaining) == (200, None)
        return
    assert answer.remaining is not None
    assert 0 <= answer.remaining <= answer.numbers.q
    if answer.status == 429:
        assert answer.wait is not None
        # The closed interval of the log, and two windows of the counter.
        assert 1 <= answer.wait <= 2 * answer.numbers.w


def test_edits_are_obeyed_while_traffic_runs(make_site, redis_url, redis_server):
    site = make_site(redis=redis_url)
    editor = site.editor()
    editor.run(FIRST)
    server = site.gunicorn(2, "--worker-class", "gthread", "--threads", "8", "--keep-alive", "60")
    server.wait(2)
    kept = connections(server.port, server.pids)
    spender = Connection(server.port)
    assert [spender.ask("spender").remaining for _ in range(4)] == [9, 8, 7, 6]
    with redis_server.client() as client:
        client.config_resetstat()
    columns = {"mode": "enforce", "limit": 10, "period": LONG, "burst": None}
    took = {}

    with Load(kept) as load:
        load.obeyed(server.pids, numbers(columns), time.monotonic())
        for edit in EDITS:
            columns |= edit.columns
            change = f"Policy.objects.filter(slug='edited').update(**{edit.columns!r})"
            took[edit.what] = load.obeyed(server.pids, numbers(columns), editor.run(change))
            answer = spender.ask("spender")
            check(answer)
            assert answer.remaining == edit.left, edit.what

        took["deleted"] = load.obeyed(
            server.pids, None, editor.run("Policy.objects.get(slug='edited').delete()")
        )
        assert spender.ask("spender").numbers is None
        took["created anew"] = load.obeyed(server.pids, Numbers(10, LONG), editor.run(FIRST))
        # The same name, key and algorithm: what was spent under them is remembered.
        assert spender.ask("spender").remaining == 2
        ended = time.monotonic()

    for each in (spender, *kept):
        each.close()
    for answer in load.answers:
        check(answer)
    report = ", ".join(f"{what} {seconds:.2f}" for what, seconds in took.items())
    rate = len(load.answers) / (ended - load.answers[0].sent)
    print(f"{rate:.0f} requests a second; seconds until obeyed: {report}")  # noqa: T201
    assert {what: seconds for what, seconds in took.items() if seconds > 1} == {}
    assert {answer.pid for answer in load.answers} == server.pids
    with redis_server.client() as client:
        commands = client.info("commandstats")
    assert commands["cmdstat_evalsha"]["calls"] > len(load.answers) // 2
    # Redis is not asked by the site for anything that it refuses: no other type, no other script.
    failed = {name for name, each in commands.items() if each["failed_calls"]}
    assert {name for name in failed if not name.startswith("cmdstat_client")} == set()
    assert "Traceback" not in server.output()
    assert "ratelimit_app" not in server.output()
