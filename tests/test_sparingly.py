"""What happens with every request is logged once an interval, with how often it happened."""

import logging

import pytest

from ratelimit_app import sparingly
from ratelimit_app.sparingly import Sparingly

log = logging.getLogger("ratelimit_app.test")


def test_one_line_an_interval_and_a_count(monkeypatch, caplog):
    now = 100.0
    monkeypatch.setattr(sparingly, "_INTERVAL", 10.0)
    monkeypatch.setattr("ratelimit_app.sparingly.time.monotonic", lambda: now)
    said = Sparingly(log)
    for _ in range(5):
        said.warning("down: %s", "why")
    assert caplog.messages == ["down: why"]
    now = 110.0
    said.warning("down: %s", "why")
    assert caplog.messages == ["down: why", "down: why (4 more since the last such line)"]


def test_an_error_comes_with_its_traceback(caplog):
    with pytest.raises(ZeroDivisionError) as caught:
        _ = 1 / 0
    Sparingly(log).error("broken: %s", caught.value, "x")
    (record,) = caplog.records
    assert (record.getMessage(), record.levelname) == ("broken: x", "ERROR")
    assert record.exc_info is not None
    assert record.exc_info[1] is caught.value
