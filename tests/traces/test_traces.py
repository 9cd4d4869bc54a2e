"""The trace reader takes exactly the requests that a line states, and explains every other line."""

import gzip
import io
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratelimit_app import traces
from ratelimit_app.traces import Hit, Skipped, Trace

DATA = Path(__file__).parent.parent / "data"
LOG_LINE = b'192.0.2.1 - - [01/Mar/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 12'
AT = 1772359200_000


def read(data: bytes) -> Trace:
    return traces.read(io.BytesIO(data))


def read_file(name: str) -> Trace:
    with traces.open_trace(str(DATA / name)) as source:
        return traces.read(source)


def expected(name: str) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = json.loads((DATA / name).read_text())
    return lines


def only_key(line: str) -> str:
    (hit,) = read(line.encode()).hits
    return hit.key


def only_reason(line: str | bytes) -> str:
    trace = read(line if isinstance(line, bytes) else line.encode())
    assert trace.hits == []
    (skipped,) = trace.skipped
    return skipped.reason


def json_line(**fields: object) -> str:
    return json.dumps({"t": 1, "key": "a", **fields})


# Access logs


def test_odd_lines() -> None:
    trace = read_file("odd-lines.log")
    wanted = expected("odd-lines.expected.json")
    # A line that may be taken or skipped states its key and time, and is taken.
    hits = [Hit(w["t"] * 1000, w["key"], 1, w["line"]) for w in wanted if w["do"] != "skip"]
    assert trace.hits == sorted(hits, key=lambda hit: hit.t)
    assert [s.line for s in trace.skipped] == [w["line"] for w in wanted if w["do"] == "skip"]


@pytest.mark.parametrize(
    ("name", "requests", "clients", "first", "last"),
    [
        ("access.log.gz", 10_000, 1_753, 1431857100_000, 1432155959_000),
        ("nasa-1995-07.log.gz", 4_000, 416, 804571201_000, 804575334_000),
        ("nginx-2021.log.gz", 1_000, 228, 1636675380_000, 1637570096_000),
    ],
)
def test_real_logs(name: str, requests: int, clients: int, first: int, last: int) -> None:
    trace = read_file(name)
    assert trace.skipped == []
    assert len(trace.hits) == requests
    assert len({hit.key for hit in trace.hits}) == clients
    assert (trace.hits[0].t, trace.hits[-1].t) == (first, last)
    # By time; requests of one second as they stand in the file.
    assert trace.hits == sorted(trace.hits, key=lambda hit: (hit.t, hit.line))


REQUEST = '[01/Mar/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1'


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ("www.example.org 192.0.2.6 - -", "192.0.2.6"),
        ("192.0.2.10:443 192.0.2.6 - -", "192.0.2.6"),
        ("[2001:db8::1]:443 2001:db8::7 - -", "2001:db8::7"),
        ("_:80 host-7.example.net - -", "host-7.example.net"),
        ("192.0.2.6 10.0.0.1 - -", "192.0.2.6"),
        ('"192.0.2.6" - -', "192.0.2.6"),
        ("2001:DB8::7 - -", "2001:db8::7"),
        ("::FFFF:c000:201 - -", "192.0.2.1"),
        ("Host-7.example.net - frank the admin", "Host-7.example.net"),
        ("192.0.2.6 - [01/Jan/2030:00:00:00 +0000]", "192.0.2.6"),
        ("192.0.2.6", "192.0.2.6"),
        ("\0\0" + "192.0.2.6 - -", "192.0.2.6"),
    ],
)
def test_client(fields: str, key: str) -> None:
    assert read(f"{fields} {REQUEST}".encode()).hits == [Hit(AT, key, 1, 1)]


@pytest.mark.parametrize(
    "fields",
    [
        "",
        "- - -",
        "unix: - -",
        "192.0.2.6, 10.0.0.1 - -",  # a forwarded list: which one is the client is not known
        '"192.0.2.6, 10.0.0.1" - -',
        "192.0.2.999 - -",
        "www.example.org:443 - - -",
        "Mar 1 10:00:00 web nginx: 192.0.2.6 - -",
        "2026-03-01T10:00:00Z stdout F 192.0.2.6 - -",
        "web_1 | 192.0.2.6 - -",
        "a" * 300 + " - -",
    ],
)
def test_no_client_is_never_one_bucket_for_all(fields: str) -> None:
    assert only_reason(f"{fields} {REQUEST}").startswith("no client address")


@pytest.mark.parametrize(
    ("stamp", "t"),
    [
        ("01/Mar/2026:10:00:00.25 +0000", AT + 250),
        ("01/Mar/2026:04:15:00 -0545", AT),
        ("1/Mar/2026:10:00:00 +0000", AT),
        ("29/Feb/2024:00:00:00 +0000", 1709164800_000),
        ("01/Jan/1970:00:00:00 +0000", 0),
    ],
)
def test_time(stamp: str, t: int) -> None:
    assert read(f'192.0.2.1 - - [{stamp}] "-" 408 -'.encode()).hits == [Hit(t, "192.0.2.1", 1, 1)]


@pytest.mark.parametrize(
    "stamp",
    [
        "29/Feb/2026:10:00:00 +0000",
        "00/Mar/2026:10:00:00 +0000",
        "01/Mar/0000:10:00:00 +0000",
        "01/Mar/2026:24:00:00 +0000",
        "01/Mar/2026:10:00:00 +2400",
        "01/Mar/2026:10:00:00 +0060",
        "01/Mar/2026:10:00:00",
        "01/mar/2026:10:00:00 +0000",
        "01/Jan/1970:00:00:00 +0100",
        "\u0660\u0661/Mar/2026:10:00:00 +0000",
        "",
    ],
)
def test_no_such_time(stamp: str) -> None:
    assert only_reason(f'192.0.2.1 - - [{stamp}] "-" 408 -').startswith("no such time")


@pytest.mark.parametrize("request_", ['"GET /?q="x" HTTP/1.1"', r'"GET /\\"', r'"\""', '""'])
def test_whole_request(request_: str) -> None:
    assert only_key(f"192.0.2.1 - - [01/Mar/2026:10:00:00 +0000] {request_}") == "192.0.2.1"


@pytest.mark.parametrize("request_", ['"', '"GET /', '"GET /\\"', '"GET /\\', '"GET /?q="x'])
def test_request_cut_short(request_: str) -> None:
    line = f"192.0.2.1 - - [01/Mar/2026:10:00:00 +0000] {request_}"
    assert only_reason(line) == "cut short inside the request"


# JSON lines


def test_odd_trace() -> None:
    trace = read_file("odd-trace.jsonl")
    assert trace.hits == [
        Hit(1772359199_000, "a", 1, 16),
        Hit(1772359200_000, "a", 1, 1),
        Hit(1772359200_250, "a", 1, 2),
        Hit(1772359200_500, "a", 2, 3),
        Hit(1772359202_000, "a", 0, 9),
        Hit(1772359203_000, "a", 10**12, 12),
        Hit(1772359204_000, "é\0\n", 1, 20),
        Hit(1772359205_000, "a", 1, 21),
    ]
    taken, skipped = {hit.line for hit in trace.hits}, {s.line for s in trace.skipped}
    for wanted in expected("odd-trace.expected.json"):
        right = wanted["right"]
        if wanted["line"] in skipped:
            assert right.startswith(("skip", "take or skip"))
        else:
            # What is taken and can never fit, the limiter refuses.
            assert wanted["line"] in taken
            assert right.startswith(("take", "refuse"))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (json_line(t=True), "t is not a time in seconds: true"),
        (json_line(t=-0.0004), "t is not a time in seconds: -0.0004"),
        (json_line(t=253402300800), "t is not a time in seconds: 253402300800"),
        (json_line(t=10**100), "t is not a time in seconds: 1" + "0" * 39 + "..."),
        (json_line(key=7), "key is not a text, or empty: 7"),
        (json_line(key=["a"]), "key is not a text, or empty: a list or an object"),
        (json_line(key="\ud800"), 'key is not a text, or empty: "\\ud800"'),
        (json_line(cost=True), "cost is not a whole number from 0 up: true"),
        (json_line(cost=2.0), "cost is not a whole number from 0 up: 2.0"),
        (json_line(cost=None), "cost is not a whole number from 0 up: null"),
        (json_line(cost=float("nan")), "cost is not a whole number from 0 up: NaN"),
        (
            json_line(cost="\x1b[31m\x7f"),
            'cost is not a whole number from 0 up: "\\u001b[31m\\u007f"',
        ),
        ('{"t": 1, "key": "a"} {}', 'not JSON: "{\\"t\\": 1, \\"key\\": \\"a\\"} {}"'),
        (b'{"t": 1, "key": "\xff"}', 'not JSON: "{\\"t\\": 1, \\"key\\": \\"\\ufffd\\"}"'),
    ],
)
def test_json_that_is_no_request(line: str | bytes, reason: str) -> None:
    assert only_reason(line) == reason


@pytest.mark.parametrize(
    "value",
    [
        "[" * 60_000,
        "[" * 900 + "]" * 900,
        '{"a":' * 60_000,
        "9" * 60_000,
        "1e99999",
        '"' + "a" * 70_000,
    ],
    ids=["open lists", "lists", "open objects", "digits", "exponent", "text"],
)
@pytest.mark.parametrize("field", ["t", "key", "cost", "note"])
def test_monstrous_json(field: str, value: str) -> None:
    trace = read(b'{"t": 1, "key": "a", "%s": %s}' % (field.encode(), value.encode()))
    assert len(trace.hits) + len(trace.skipped) == 1
    assert field == "note" or trace.hits == []


# Sources


def test_gzip_is_told_by_its_bytes(tmp_path: Path) -> None:
    packed = tmp_path / "trace.txt"
    packed.write_bytes(gzip.compress(LOG_LINE + b"\n") + gzip.compress(LOG_LINE))
    with traces.open_trace(str(packed)) as source:
        assert [hit.line for hit in traces.read(source).hits] == [1, 2]
    plain = tmp_path / "trace.gz"
    plain.write_bytes(LOG_LINE)
    with traces.open_trace(str(plain)) as source:
        assert len(traces.read(source).hits) == 1


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input_stays_open(pack: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(pack(LOG_LINE)))
    monkeypatch.setattr(sys, "stdin", stdin)
    with traces.open_trace("-") as source:
        assert traces.read(source).hits == [Hit(AT, "192.0.2.1", 1, 1)]
    del source
    assert not stdin.buffer.closed


def test_the_source_stays_open() -> None:
    for data in (LOG_LINE, gzip.compress(LOG_LINE)):
        source = io.BytesIO(data)
        traces.read(source)
        assert not source.closed


def test_truncated_gzip_keeps_what_was_read() -> None:
    lines = b"".join(b'{"t": %d, "key": "%d"}\n' % (n, n * n * 7919) for n in range(5_000))
    packed = gzip.compress(lines)
    trace = read(packed[: len(packed) // 2])
    assert 1_000 < len(trace.hits) < 4_000
    assert [hit.t for hit in trace.hits] == [n * 1000 for n in range(len(trace.hits))]
    assert trace.skipped[-1] == Skipped(
        len(trace.hits) + len(trace.skipped),
        "the gzip file is cut short or damaged here: the rest is lost",
    )
    # Only the check sum at the end is lost: all the lines were there.
    assert len(read(packed[:-4]).hits) == 5_000
    assert len(read(packed[:-4]).skipped) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"\x1f\x8b",
        b"\x1f\x8b\x08\xff" + b"\xff" * 50,
        gzip.compress(LOG_LINE, mtime=0)[:-8] + b"\0" * 8,
        gzip.compress(LOG_LINE, mtime=0) + b"garbage",
    ],
)
def test_damaged_gzip(data: bytes) -> None:
    assert "damaged" in read(data).skipped[-1].reason


def test_no_line_at_all() -> None:
    assert read(b"") == read(gzip.compress(b"")) == Trace([], [])


def test_an_endless_line_is_skipped_and_the_next_is_read() -> None:
    trace = read(b"x" * (3 << 20) + b"\n" + LOG_LINE)
    assert trace.skipped == [Skipped(1, "longer than 1048576 bytes")]
    assert [hit.line for hit in trace.hits] == [2]


# Any input


HEAD = b'192.0.2.1 - - [01/Mar/2026:10:00:00 +0000] "'


@pytest.mark.parametrize(
    "line",
    [
        HEAD + b"\\" * 1_000_000,
        HEAD + b'\\"' * 500_000,
        HEAD + b'"a' * 500_000,
        HEAD + b"a" * 1_000_000,
        b"]" * 1_000_000,
        b"] " * 500_000,
        b"]" + b" " * 1_000_000,
        b"[" * 1_000_000 + HEAD,
        b"a " * 500_000 + HEAD + b'"',
        b"1.2." * 250_000 + HEAD + b'"',
        b":" * 1_000_000 + HEAD + b'"',
        b"{" * 1_000_000,
        b'{"' + b"\\" * 1_000_000,
    ],
)
def test_time_is_bounded(line: bytes) -> None:
    began = time.process_time()
    trace = read(line[: 1 << 20])
    assert time.process_time() - began < 2  # tens of milliseconds; a square would take hours
    assert len(trace.hits) + len(trace.skipped) == 1


PIECES = st.sampled_from(
    [
        LOG_LINE,
        HEAD,
        b'{"t": 1, "key": "a"',
        b'"t":',
        b"1e400",
        b"NaN",
        b"\xef\xbb\xbf",
        b"{",
        b"}",
        b'"',
        b"[",
        b"]",
        b"\\",
        b"\n",
        b"\r\n",
        b" ",
        b"-",
        b"192.0.2.1",
        b"::ffff:",
        b"%",
        b":80",
    ]
)


@given(st.one_of(st.binary(), st.lists(st.one_of(PIECES, st.binary(max_size=4))).map(b"".join)))
def test_every_line_is_a_hit_or_a_skip(data: bytes) -> None:
    trace = read(data)
    if not data.startswith(b"\x1f\x8b"):
        lines = list(io.BytesIO(data))
        seen = sorted([hit.line for hit in trace.hits] + [s.line for s in trace.skipped])
        assert seen == list(range(1, len(lines) + 1))
    for skipped in trace.skipped:
        assert 0 < len(skipped.reason) <= 120
        assert skipped.reason.isascii()
        assert skipped.reason.isprintable()
    for hit in trace.hits:
        assert hit.key
        assert min(hit.t, hit.cost) >= 0


@given(st.binary())
def test_a_damaged_gzip_never_raises(data: bytes) -> None:
    read(b"\x1f\x8b\x08\0\0\0\0\0\0\0" + data)


@given(
    t=st.floats(0, 2e11) | st.integers(0, 2 * 10**11),
    key=st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    cost=st.integers(0, 10**15),
)
def test_json_comes_back(t: float, key: str, cost: int) -> None:
    line = json.dumps({"t": t, "key": key, "cost": cost})
    assert read(line.encode()).hits == [Hit(round(t * 1000), key, cost, 1)]


def test_of_endless_nonsense_only_the_first_lines_are_kept() -> None:
    trace = read(b"\n" * 12_345)
    assert (len(trace.skipped), trace.unlisted) == (traces.LISTED, 2_345)
