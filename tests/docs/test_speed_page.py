"""The figures of docs/speed.md whose time is data, and its picture, are what the code gives."""

import pytest

from benchmarks import leases


@pytest.fixture(scope="module")
def errors() -> dict[int, leases.Error]:
    return {size: leases.error(size) for size in leases.SIZES}


def test_the_table_is_what_the_code_gives(errors: dict[int, leases.Error]):
    page = leases.PAGE.read_text()
    shown = page.split(leases.BEGIN)[1].split(leases.END)[0].strip().splitlines()
    given = leases.table(dict.fromkeys(leases.SIZES, (0.0, 0.0)), errors).splitlines()
    assert [line.split("|")[4:] for line in shown] == [line.split("|")[4:] for line in given]


def test_the_picture_is_what_the_code_gives(errors: dict[int, leases.Error]):
    assert leases.PICTURE.read_text() == leases.draw(errors)


def test_the_error_is_within_what_is_stated(errors: dict[int, leases.Error]):
    assert errors[1] == (0, 0, 1)
    for size, found in errors.items():
        assert max(found.over, found.under) <= leases.PROCESSES * size
    trips = [found.trips for found in errors.values()]
    assert trips == sorted(trips, reverse=True)
