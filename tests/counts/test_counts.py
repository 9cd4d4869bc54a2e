"""A decision costs what it did when its figures were committed; see figures.py."""

import pytest
from pytest_django import DjangoDbBlocker

from tests.servers import RedisServer

from . import figures
from .counting import Counts, counts


@pytest.fixture(scope="module")
def counted(redis_server: RedisServer, django_db_blocker: DjangoDbBlocker) -> Counts:
    # At the start of a request Django looks at the connections that tests before have opened.
    with django_db_blocker.unblock():
        return counts(redis_server)


@pytest.fixture(scope="module")
def committed() -> Counts:
    found = figures.load()
    assert figures.PYTHON in found, "No figures for this Python: run python -m tests.counts"
    return found[figures.PYTHON]


def test_every_decision_has_its_figures(counted: Counts, committed: Counts) -> None:
    assert {name: set(each) for name, each in counted.items()} == {
        name: set(each) for name, each in committed.items()
    }


def test_no_figure_has_moved(counted: Counts, committed: Counts) -> None:
    moved = {
        f"{name}: {measure}": f"{committed[name][measure]} -> {now}"
        for name, each in counted.items()
        for measure, now in each.items()
        if abs(now - committed[name][measure]) > figures.TOLERANCE * committed[name][measure]
    }
    assert not moved, f"See tests/counts/figures.py: {moved}"


def test_a_decision_is_one_trip_whatever_the_policies(counted: Counts) -> None:
    trips = {name: each["trips"] for name, each in counted.items() if "trips" in each}
    assert trips == {f"redis, {count} policies": 1 for count in (1, 3, 10)}
