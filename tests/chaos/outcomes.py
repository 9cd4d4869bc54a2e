"""What a client can see of how its request was decided, and what it must never see."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence

from tests.live.asking import Answer

from .load import Seen

#: One policy for each answer to an outage, so that a request's path says what it has to be.
KINDS = ("open", "closed", "local")
#: Units that never come back while a test runs.
LIMIT = 20
POLICIES = f"""
for kind in {KINDS}:
    for start in ("/", "/async/"):
        Policy.objects.create(
            slug=kind + start.replace("/", "-").strip("-"), limit={LIMIT}, period=864_000,
            key="header", key_name="X-Client", path=start + kind + "/", on_error=kind,
        )
"""

#: Seconds for which a refusal of Redis is remembered at most.
KNOWN = 1.0

PROBLEM = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"


def kind_of(seen: Seen) -> str:
    """The `on_error` of the policy of this path."""
    return seen.asked.path.split("/")[-2]


def source(answer: Answer) -> str:
    """Who decided: `redis`, or else the `on_error` that did."""
    told = answer.headers["X-Source"]
    if told != "error":
        # What Redis said within the last second.
        return "redis" if told == "near" else told
    # A number that nobody counted is not invented.
    assert answer.limit is None
    if answer.status == 200:
        return "open"
    assert answer.status == 503
    assert answer.headers["Retry-After"] == "1"
    assert json.loads(answer.body)["type"] == PROBLEM
    return "closed"


def sources(seen: Iterable[Seen]) -> Counter[str]:
    """How many were decided by whom."""
    return Counter(source(each.answer) for each in seen)


def assert_answered(seen: Sequence[Seen], sent: int) -> None:
    """Every request, by 200, 429 or 503; and by Redis or by the `on_error` of its policy."""
    assert len(seen) == sent
    assert [each for each in seen if not each.answer.status] == []
    assert {each.answer.status for each in seen} <= {200, 429, 503}
    wrong = [each for each in seen if source(each.answer) not in ("redis", kind_of(each))]
    assert wrong == []


def assert_by_redis(seen: Sequence[Seen]) -> None:
    """All of them, and there are some."""
    assert seen
    assert [each for each in seen if source(each.answer) != "redis"] == []


def assert_by_on_error(seen: Sequence[Seen]) -> None:
    """All of them, and there are some of every kind.

    Save whom Redis refused just before: for a second that is known without asking again.
    """
    assert {kind_of(each) for each in seen} == set(KINDS)
    known = min(each.answer.sent for each in seen) + KNOWN
    wrong = [each for each in seen if source(each.answer) != kind_of(each)]
    assert [each for each in wrong if each.answer.status != 429 or each.answer.sent > known] == []


def between(seen: Iterable[Seen], start: float, end: float = math.inf) -> list[Seen]:
    """Those that were sent after `start` and answered before `end`."""
    return [each for each in seen if each.answer.sent > start and each.answer.came < end]


def share(seen: Sequence[Seen], part: float) -> float:
    """The time (in seconds) within which this part of the requests was answered."""
    took = sorted(each.took for each in seen)
    return took[min(len(took) - 1, math.floor(part * len(took)))]


def figures(seen: Sequence[Seen]) -> str:
    """For people."""
    times = ", ".join(
        f"{name} {1000 * share(seen, part):.0f} ms"
        for name, part in (("p50", 0.5), ("p99", 0.99), ("max", 1.0))
    )
    start = seen[0].answer.sent
    worst = ", ".join(
        f"{1000 * each.took:.0f} ms at {each.answer.sent - start:.2f} s"
        for each in sorted(seen, key=lambda each: -each.took)[:12]
    )
    return f"{len(seen)} requests: {times}; {dict(sources(seen))}; the slowest: {worst}"
