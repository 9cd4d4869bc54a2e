"""`manage.py ratelimit replay`: exact counts, the same on both stores, and nothing left behind."""

import io
import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from ratelimit_app.commands import replay_run
from ratelimit_app.stores import Unavailable
from ratelimit_app.stores.traced import TraceRedisStore

DATA = Path(__file__).parent.parent / "data"

BUCKETS = ["gcra", "token_bucket", "leaky_bucket"]
WINDOWS = ["fixed_window", "sliding_window_log", "sliding_window_counter"]
# What each algorithm admits, in the order of WINDOWS and then of any bucket.
ADMITTED = [
    ("access.log.gz", 10, 30, (9039, 8988, 8981, 9478)),
    ("access.log.gz", 20, 3600, (9069, 9062, 8869, 9069)),
    ("nasa-1995-07.log.gz", 5, 10, (3982, 3956, 3974, 3993)),
    ("nginx-2021.log.gz", 2, 10, (575, 517, 539, 546)),
]
CASES = [
    (log, limit, period, algorithm, counts[min(at, 3)])
    for log, limit, period, counts in ADMITTED
    for at, algorithm in enumerate([*WINDOWS, *BUCKETS])
]


def numbers(algorithm: str = "gcra", limit: int = 2, period: object = 10) -> list[str]:
    return ["--algorithm", algorithm, "--limit", str(limit), "--period", str(period)]


def value(summary: str, name: str) -> str:
    (line,) = [line for line in summary.splitlines() if line.startswith(f"{name}:")]
    return line.partition(":")[2].strip()


@pytest.mark.parametrize(("log", "limit", "period", "algorithm", "admitted"), CASES)
def test_admitted_in_memory(ratelimit, log, limit, period, algorithm, admitted):
    said = ratelimit("replay", str(DATA / log), *numbers(algorithm, limit, period))
    assert value(said.out, "admitted") == str(admitted)
    assert said.err == ""


@pytest.mark.parametrize(("log", "limit", "period", "algorithm", "admitted"), CASES)
def test_admitted_on_redis(ratelimit, on_redis, log, limit, period, algorithm, admitted):
    arguments = [str(DATA / log), *numbers(algorithm, limit, period)]
    said = ratelimit("replay", *arguments, "--store", "redis")
    assert value(said.out, "admitted") == str(admitted)
    assert on_redis.dbsize() == 0


@pytest.mark.parametrize("algorithm", [*WINDOWS, *BUCKETS])
@pytest.mark.parametrize("trace", ["odd-lines.log", "odd-trace.jsonl", "nginx-2021.log.gz"])
def test_both_stores_say_the_same(ratelimit, on_redis, trace, algorithm):
    arguments = ["replay", str(DATA / trace), *numbers(algorithm, 2, "7.5"), "--output", "jsonl"]
    memory = ratelimit(*arguments)
    assert ratelimit(*arguments, "--store", "redis") == memory
    assert on_redis.dbsize() == 0


def test_odd_trace(ratelimit):
    said = ratelimit("replay", str(DATA / "odd-trace.jsonl"), *numbers(), "--output", "jsonl")
    lines = [json.loads(line) for line in said.out.splitlines()]
    assert len(lines) == 8
    assert lines[0] == {
        "t": 1772359199,
        "key": "a",
        "allowed": True,
        "limit": 2,
        "remaining": 1,
        "retry_after": 0,
        "reset_after": 5,
    }
    (never,) = [line for line in lines if line["retry_after"] is None]
    assert (never["t"], never["allowed"], never["remaining"]) == (1772359203, False, 0)
    assert said.err.splitlines()[0] == 'line 4: t is not a time in seconds: "1772359201"'
    assert said.err.splitlines()[-1] == ("13 lines could not be read, of which 10 are named above.")


def test_summary(ratelimit):
    said = ratelimit("replay", str(DATA / "access.log.gz"), *numbers("gcra", 5, 60))
    assert said.out.splitlines()[:9] == [
        "policy:   gcra, 5 per minute (memory)",
        "span:     2015-05-17 10:05:00 to 2015-05-20 21:05:59 UTC (298859 s)",
        "keys:     1753",
        "requests: 10000",
        "admitted: 8107",
        "refused:  1893 (18.9%)",
        "",
        "most refused     requests  refused",
        "100.119.82.59    357       291",
    ]


def test_burst(ratelimit, tmp_path):
    trace = tmp_path / "trace"
    trace.write_text('{"t": 1, "key": "a"}\n' * 5)
    said = ratelimit("replay", str(trace), *numbers(), "--burst", "4")
    assert value(said.out, "admitted") == "4"
    assert value(said.out, "policy") == "gcra, 2 per 10 s, 4 at once (memory)"


def test_standard_input(ratelimit, monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO((DATA / "nginx-2021.log.gz").read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert value(ratelimit("replay", "-", *numbers()).out, "admitted") == "546"


@pytest.mark.django_db
@pytest.mark.parametrize("mode", ["enforce", "shadow", "off"])
def test_policy_in_any_mode(ratelimit, mode):
    from ratelimit_app.models import Policy

    Policy.objects.create(slug="login", limit=10, period=30, mode=mode, cost=3)
    said = ratelimit("replay", str(DATA / "access.log.gz"), "--policy", "login")
    assert value(said.out, "admitted") == "9478"


@pytest.mark.parametrize("store", ["memory", "redis"])
def test_limit_of_0_refuses_all_but_cost_0(ratelimit, on_redis, tmp_path, store):
    trace = tmp_path / "trace"
    trace.write_text('{"t": 1, "key": "a"}\n{"t": 1, "key": "a", "cost": 0}\n')
    arguments = [str(trace), *numbers(limit=0), "--store", store]
    said = ratelimit("replay", *arguments, "--output", "jsonl")
    first, second = map(json.loads, said.out.splitlines())
    assert (first["allowed"], first["retry_after"]) == (False, None)
    assert (second["allowed"], second["retry_after"]) == (True, 0)


# What cannot be


@pytest.mark.parametrize(
    ("options", "fix"),
    [
        ([], "--algorithm, --limit, --period missing"),
        (["--algorithm", "gcra", "--limit", "5"], "--period missing"),
        (numbers(limit=-1), "limit -1 is below 0"),
        (numbers(period=0), "period 0 is too short"),
        (numbers(period="1.0005"), "--period 1.0005 is finer than a millisecond"),
        (numbers(period="NaN"), "'NaN' is no number of seconds"),
        (numbers(period="1e999999"), "'1e999999' is no number of seconds"),
        (numbers(period="a minute"), "'a minute' is no number of seconds"),
        (numbers(limit=10**17), "too large"),
        (numbers("sliding_window_log", limit=2_000_000), "sliding_window_log remembers"),
        ([*numbers(), "--burst", "0"], "burst 0 is below 1"),
        ([*numbers("fixed_window"), "--burst", "3"], "burst 3 has no meaning for fixed_window"),
        (numbers("gcra2"), "invalid choice: 'gcra2'"),
        (["--policy", "a", "--limit", "3"], "leave out --limit"),
        ([*numbers(), "--store", "redis"], "--store memory"),
    ],
)
def test_refused(ratelimit, options, fix):
    with pytest.raises(CommandError) as raised:
        ratelimit("replay", str(DATA / "nginx-2021.log.gz"), *options)
    assert fix in str(raised.value)


def test_missing_file(ratelimit, tmp_path):
    for path in (tmp_path / "nothing", tmp_path):
        with pytest.raises(CommandError, match="give the path of a log, or - for standard input"):
            ratelimit("replay", str(path), *numbers())


@pytest.mark.parametrize("text", ["", "nonsense\n\n"])
def test_nothing_to_read(ratelimit, tmp_path, text):
    trace = tmp_path / "trace"
    trace.write_text(text)
    with pytest.raises(CommandError, match="Nothing could be read in"):
        ratelimit("replay", str(trace), *numbers())


@pytest.mark.usefixtures("no_redis")
def test_redis_does_not_answer(ratelimit):
    with pytest.raises(CommandError, match=r"'default'.* did not answer .*LOCATION"):
        ratelimit("replay", str(DATA / "nginx-2021.log.gz"), *numbers(), "--store", "redis")


# Nothing is left behind


def test_an_error_leaves_nothing(ratelimit, on_redis, monkeypatch):
    whole = TraceRedisStore.take_each

    def breaks(self: TraceRedisStore, moments: Any) -> Any:
        whole(self, moments)
        assert on_redis.dbsize() > 0
        raise Unavailable("the cable is out")

    monkeypatch.setattr(TraceRedisStore, "take_each", breaks)
    with pytest.raises(CommandError, match="the cable is out"):
        ratelimit("replay", str(DATA / "nginx-2021.log.gz"), *numbers(), "--store", "redis")
    assert on_redis.dbsize() == 0


def test_keys_expire_should_the_clean_up_fail(ratelimit, on_redis, monkeypatch):
    def look(self: TraceRedisStore, takes: Any) -> None:
        assert {on_redis.ttl(self.bucket(take)) for take in takes} <= {3599, 3600}

    monkeypatch.setattr(TraceRedisStore, "forget", look)
    ratelimit("replay", str(DATA / "nginx-2021.log.gz"), *numbers(), "--store", "redis")
    assert on_redis.dbsize() == 228
    on_redis.flushdb()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_nothing(process, on_redis, redis_server, tmp_path, number):
    trace = tmp_path / "trace"
    with trace.open("w") as lines:
        for n in range(300_000):
            lines.write(json.dumps({"t": n, "key": str(n % 9973)}) + "\n")
    arguments = ["replay", str(trace), *numbers(), "--store", "redis"]
    running = process(*arguments, REDIS_URL=redis_server.url)
    while not on_redis.dbsize():
        assert running.poll() is None
        time.sleep(0.01)
    running.send_signal(number)
    out, err = running.communicate(timeout=30)
    assert out == ""
    assert running.returncode == 128 + number
    assert err == ("CommandError: Interrupted.\n" if number == signal.SIGINT else "")
    assert on_redis.dbsize() == 0


def test_a_signal_waits_for_the_trip():
    steps = []

    def trip() -> None:
        with replay_run._Signals() as signals:
            with signals.held():
                signal.raise_signal(signal.SIGINT)
                steps.append("the trip ended")
            steps.append("another began")

    with pytest.raises(KeyboardInterrupt):
        trip()
    assert steps == ["the trip ended"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("store", ["memory", "redis"])
def test_a_reader_that_goes_away(process, on_redis, redis_server, store):
    arguments = [str(DATA / "access.log.gz"), *numbers(), "--store", store, "--output", "jsonl"]
    running = process("replay", *arguments, REDIS_URL=redis_server.url)
    assert json.loads(running.stdout.readline())["allowed"]
    running.stdout.close()
    assert running.stderr.read() == ""
    running.stderr.close()
    assert running.wait() == 141
    assert on_redis.dbsize() == 0


# The progress bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal_only(monkeypatch):
    from django.core.management import call_command

    moments = iter(range(10**6))
    monkeypatch.setattr("time.monotonic", lambda: next(moments))
    arguments = ["replay", str(DATA / "nginx-2021.log.gz"), *numbers()]
    terminal, same = Terminal(), Terminal()
    call_command("ratelimit", *arguments, stdout=io.StringIO(), stderr=terminal)
    drawn = terminal.getvalue()
    assert drawn.startswith("\r[#")
    assert "[############################  ]  96%" in drawn
    assert drawn.endswith("\r" + " " * 40 + "\r")
    # Lines that scroll by on the same terminal are progress enough.
    call_command("ratelimit", *arguments, "--output", "jsonl", stdout=same, stderr=same)
    assert "#" not in same.getvalue()
