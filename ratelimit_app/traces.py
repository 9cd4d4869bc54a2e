"""Reads a trace of requests, JSON lines or an access log, plain or gzipped, for `replay`.

Every line becomes one hit or one skip with its reason; no input, however broken, raises.
"""

import gzip
import io
import ipaddress
import json
import re
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from operator import attrgetter
from typing import BinaryIO, NamedTuple, cast

CHUNK = 1 << 16
LISTED = 10_000  # skipped lines that are kept with their reason; more are only counted
LONGEST_LINE = 1 << 20  # bytes; a longer line is skipped, so that no file can fill the memory
LONGEST_VALUE = 40  # characters of a value shown in a reason
LATEST = 253_402_300_800  # the year 10,000, in milliseconds still exact as a double
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

# None of these can match one text in two ways, so all of them take linear time.
TIME_END = re.compile(r'\]\s+"')
TIME = re.compile(
    r"(\d\d?)/(\w{3})/(\d{4}):(\d\d):(\d\d):(\d\d)(\.\d{1,6})? ([+-]\d\d)([0-5]\d)", re.ASCII
)
# To an unescaped quote before a blank: old servers leave quotes inside a request as they are.
REQUEST = re.compile(r'(?:[^"\\]|\\.|"(?=\S))*"(?!\S)', re.DOTALL)
VIRTUAL_HOST = re.compile(r"(?:[\w.*-]{1,253}|\[[0-9a-fA-F:.]{2,45}\])(?::\d{1,5})?", re.ASCII)
NAME = re.compile(r"(?=[^a-zA-Z]*[a-zA-Z])[\w.*-]{1,253}", re.ASCII)
HALF_CHARACTER = re.compile("[\ud800-\udfff]")  # a lone surrogate cannot be encoded


class Hit(NamedTuple):
    t: int  # whole milliseconds since the epoch
    key: str
    cost: int
    line: int


class Skipped(NamedTuple):
    line: int
    reason: str  # printable ASCII, of bounded length


@dataclass(frozen=True, slots=True)
class Trace:
    hits: list[Hit]  # by time; those of one millisecond as they stood
    skipped: list[Skipped]
    #: How many more were skipped than the first ones that are listed.
    unlisted: int = 0


class _LineError(Exception):
    """Why a line is skipped."""


class _Stdin(io.BufferedReader):
    def close(self) -> None:
        """Does nothing: standard input belongs to the process."""


def open_trace(path: str) -> BinaryIO:
    """The bytes of a file, or of standard input for `-`; `read` unpacks gzip by itself."""
    if path == "-":
        return _Stdin(cast(io.RawIOBase, sys.stdin.buffer))
    return open(path, "rb")


def read(source: BinaryIO) -> Trace:
    hits: list[Hit] = []
    skipped: list[Skipped] = []
    unlisted = 0
    faults: list[str] = []
    keys: dict[str, str] = {}  # one copy of each key, however many its hits
    for number, raw in enumerate(_lines(_chunks(source, faults)), 1):
        try:
            t, key, cost = _request(raw)
            hits.append(Hit(t, keys.setdefault(key, key), cost, number))
        except _LineError as reason:
            if len(skipped) < LISTED:
                skipped.append(Skipped(number, str(reason)))
            else:
                unlisted += 1
    lines = len(hits) + len(skipped) + unlisted
    skipped += [Skipped(lines + 1, fault) for fault in faults]
    hits.sort(key=attrgetter("t"))
    return Trace(hits, skipped, unlisted)


def _chunks(source: BinaryIO, faults: list[str]) -> Iterator[bytes]:
    buffered = io.BufferedReader(cast(io.RawIOBase, source), CHUNK)
    packed = buffered.peek(2)[:2] == b"\x1f\x8b"
    stream = gzip.GzipFile(fileobj=buffered) if packed else buffered
    try:
        while chunk := stream.read1(CHUNK):
            yield chunk
    except (EOFError, gzip.BadGzipFile, zlib.error):
        faults.append("the gzip file is cut short or damaged here: the rest is lost")
    finally:
        buffered.detach()  # or the source would be closed with it


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole
        rest = rest[: LONGEST_LINE + 1]
    if rest:
        yield rest


def _request(raw: bytes) -> tuple[int, str, int]:
    if len(raw) > LONGEST_LINE:
        raise _LineError(f"longer than {LONGEST_LINE} bytes")
    raw = raw.removeprefix(b"\xef\xbb\xbf").strip(b"\0\t\v\f\r ")  # crashes leave NULs
    if not raw:
        raise _LineError("empty line")
    return _json_request(raw) if raw.startswith(b"{") else _logged_request(raw)


def _json_request(raw: bytes) -> tuple[int, str, int]:
    try:
        fields = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):  # also no UTF-8, or an integer of thousands of digits
        raise _LineError(f"not JSON: {_shown(raw[:100].decode('utf-8', 'replace'))}") from None
    t, key, cost = fields.get("t"), fields.get("key"), fields.get("cost", 1)
    if type(t) not in (int, float) or not 0 <= t < LATEST:
        raise _LineError(f"t is not a time in seconds: {_shown(t)}")
    if not isinstance(key, str) or not key or HALF_CHARACTER.search(key):
        raise _LineError(f"key is not a text, or empty: {_shown(key)}")
    if type(cost) is not int or cost < 0:
        raise _LineError(f"cost is not a whole number from 0 up: {_shown(cost)}")
    return round(t * 1000), key, cost


def _logged_request(raw: bytes) -> tuple[int, str, int]:
    text = raw.decode("utf-8", "replace")
    if text.startswith('"'):  # the whole line in quotes
        text = text[1:].removesuffix('"')
    if not (end := TIME_END.search(text)):
        raise _LineError(f"not JSON, nor an access log's line, or cut short: {_shown(text)}")
    # The last bracket: a user name, which the client chooses, may hold others.
    before, _, time = text[: end.start()].rpartition("[")
    t = _milliseconds(time[:LONGEST_VALUE])
    if t is None:
        raise _LineError(f"no such time: {_shown(time)}")
    if not REQUEST.match(text, end.end()):
        raise _LineError("cut short inside the request")
    return t, _client(before.split()), 1


def _client(fields: list[str]) -> str:
    """The first field, or the second behind a virtual host (Apache's vhost_combined)."""
    first, second = (field.strip('"')[:254] for field in (*fields, "-", "-")[:2])
    if address := _address(first):
        return address
    if VIRTUAL_HOST.fullmatch(first):
        if address := _address(second):
            return address
        name = second if ":" in first else first
        # More fields than the format has, and no user name with blanks (its ident would be "-"):
        # what stands before the client (syslog's date, say) would be one bucket for all.
        clear = ":" in first or len(fields) <= 3 or second == "-"
        # A name that ends in a number is a broken address.
        if clear and NAME.fullmatch(name) and not name.rpartition(".")[2].isdigit():
            return name
    raise _LineError(f"no client address: {_shown(' '.join(fields[:3]))}")


@lru_cache(maxsize=4096)
def _address(text: str) -> str | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return str(getattr(address, "ipv4_mapped", None) or address)


@lru_cache(maxsize=256)
def _milliseconds(text: str) -> int | None:
    if not (found := TIME.fullmatch(text)):
        return None
    day, month, year, hour, minute, second, fraction, hours, minutes = found.groups()
    clock = int(hour), int(minute), int(second), int((fraction or ".")[1:].ljust(6, "0"))
    try:
        offset = timezone(timedelta(hours=int(hours), minutes=int(hours[0] + minutes)))
        when = datetime(int(year), MONTHS.index(month) + 1, int(day), *clock, offset)
    except ValueError:  # no such day or month, or a second 60
        return None
    since = (when - EPOCH) / timedelta(milliseconds=1)
    return round(since) if since >= 0 else None


def _shown(value: object) -> str:
    """A value from the trace, safe to print: escaped and short."""
    if isinstance(value, (dict, list)):
        return "a list or an object"  # may be nested too deep to be written out
    text = json.dumps(value[:LONGEST_VALUE] if isinstance(value, str) else value)
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "..."
