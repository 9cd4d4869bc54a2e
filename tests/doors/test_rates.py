"""B21: the text of a rate means one thing, or is refused with its own words."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratelimit_app.rates import UNITS, parse_rate

GOOD = {
    "5/m": (5, 60),
    "10/2m": (10, 120),
    "10/week": (10, 604_800),
    "10/w": (10, 604_800),
    "1/d": (1, 86_400),
    "7/3day": (7, 259_200),
    "100/hour": (100, 3600),
    "1/second": (1, 1),
    "0/m": (0, 60),
    "007/01m": (7, 60),
}

BAD = [
    *["10/M", "10/month", "10/Month", "10/y", "10/x", "0/m ", " 5/m", "10 / m", "10/ m", "5/m\n"],
    *["10/0s", "0/0s", "-5/m", "+5/m", "5/-1m", "1.5/s", "5/1.5s", "1e3/s", "1_0/s", "٣/m"],
    *["10/", "/m", "/", "abc", "", "10", "10m", "10/m/m", "10//m", "10/2", "10/minutes", "10/MIN"],
    *["10/m,5/s", "10/m;5/s", "1" + "0" * 18 + "/s", "1/1000000000s", "ten/m", "5/m#", "0x5/m"],
]


@pytest.mark.parametrize("text", GOOD)
def test_read(text: str) -> None:
    assert parse_rate(text) == GOOD[text]


@pytest.mark.parametrize("text", BAD)
def test_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(text))):
        parse_rate(text)


@given(st.integers(0, 10**18 - 1), st.integers(1, 10**9 - 1), st.sampled_from(sorted(UNITS)))
def test_every_number_and_unit(limit: int, count: int, unit: str) -> None:
    assert parse_rate(f"{limit}/{count}{unit}") == (limit, count * UNITS[unit])


@given(st.text(alphabet="0123456789/ smhdwMy-.\n", max_size=12))
def test_whatever_is_read_was_written_plainly(text: str) -> None:
    try:
        limit, seconds = parse_rate(text)
    except ValueError:
        return
    assert re.fullmatch(r"\d+/\d*[smhdw]", text, re.ASCII)
    assert limit >= 0
    assert seconds > 0
