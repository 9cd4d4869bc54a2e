"""GCRA's fraction of a millisecond, by numbers."""

import pytest

from ratelimit_app.algorithms import Limit, gcra
from ratelimit_app.conformance.subject import MIDNIGHT


def instant(ms: int, fraction: int) -> int:
    return MIDNIGHT + ms << 53 | fraction


def test_a_unit_of_seven_in_ten_seconds():
    """10,000 / 7 = 1,428 and 4/7 ms."""
    state, *said = gcra.take(None, Limit(7, 10_000, 7), 1, MIDNIGHT)
    assert state == instant(1428, 4)
    assert said == [True, 6, 0, 1429]


# 4/7 is taken for as many quarters, fifths or halves as there can be; then a unit is added.
@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (5, (3428, 4)),  # 1,428 4/5 + 2,000
        (4, (3928, 3)),  # 1,428 3/4 + 2,500
        (3, (4762, 0)),  # 1,428 2/3 + 3,333 1/3
        (1, (11428, 0)),  # 1,428 + 10,000
    ],
)
def test_a_fraction_stays_below_a_millisecond_when_the_limit_is_lowered(
    limit: int, expected: tuple[int, int]
):
    state, *_ = gcra.take(instant(1428, 4), Limit(limit, 10_000, 7), 1, MIDNIGHT)
    assert state == instant(*expected)
