"""Worked cases of others, tests/cases/, on every store: a row is one take and what it answers."""

import json
from pathlib import Path
from typing import Any

import pytest

from ratelimit_app.algorithms import ALGORITHMS, BUCKETS
from ratelimit_app.conformance.crowds import THREADS, in_threads
from ratelimit_app.conformance.subject import MIDNIGHT, MakeStore, Subject, every_bucket, quota
from ratelimit_app.stores import Quota

CASES = Path(__file__).parent.parent / "cases"


def read(name: str) -> Any:
    return json.loads((CASES / name).read_text())


SEQUENCES = read("sequences.json")
TABLES = {
    name: read(f"tables/{name}.json") for name in ("throttled_gcra", "golang_x_time_rate", "limits")
}


def policy(case: dict[str, Any], algorithm: str) -> Quota:
    return quota(algorithm, case["limit"], case["period"], case.get("burst"))


def with_algorithms(cases: list[dict[str, Any]]) -> list[Any]:
    """A case of a bucket is run by all three, which decide alike while the clock runs forward."""
    return [
        pytest.param(case, name, id=f"{number} {case.get('id') or case.get('name', '')}-{name}")
        for number, case in enumerate(cases)
        for name in (sorted(BUCKETS) if case["algorithm"] in BUCKETS else [case["algorithm"]])
    ]


@pytest.mark.parametrize(("case", "algorithm"), with_algorithms(SEQUENCES["cases"]))
def test_sequence(make_store: MakeStore, case: dict[str, Any], algorithm: str):
    subject, asked = Subject(make_store), policy(case, algorithm)
    for at, who, allowed in case["steps"]:
        subject.at(at)
        assert subject.take(asked, who=who).allowed is allowed, at


@pytest.mark.parametrize(("case", "algorithm"), with_algorithms(SEQUENCES["waits"]))
def test_wait(make_store: MakeStore, case: dict[str, Any], algorithm: str):
    subject, asked = Subject(make_store), policy(case, algorithm)
    for at in case["hits"]:
        subject.at(at)
        last = subject.take(asked)
    assert (last.allowed, last.retry_after) == (False, case["retry_after"])


@pytest.mark.parametrize("algorithm", list(ALGORITHMS))
def test_boundary_of_a_window(make_store: MakeStore, algorithm: str):
    case = SEQUENCES["boundary"]
    subject, asked = Subject(make_store), policy(case, algorithm)
    admitted = 0
    for at in case["at"]:
        subject.at(at)
        admitted += sum(subject.take(asked).allowed for _ in range(case["attempts_each"]))
    assert admitted == case["admitted"][algorithm]


def answers(subject: Subject, asked: Quota, row: dict[str, Any]) -> dict[str, Any]:
    """What the store says to one row, in the words of the row."""
    subject.at(row["t"])
    tokens = subject.look(asked).remaining
    decision = subject.take(asked, row["cost"], spend=not row.get("peek"))
    said = decision._asdict() | {"tokens_before": tokens}
    return said | {"never_fits": decision.retry_after is None and not decision.allowed}


@pytest.mark.parametrize(
    ("case", "algorithm"),
    with_algorithms(
        [
            case
            for table in TABLES.values()
            for case in table["cases"]
            if not case.get("clock_goes_back")
        ]
    ),
)
def test_table(make_store: MakeStore, case: dict[str, Any], algorithm: str):
    subject, asked = Subject(make_store), policy(case, algorithm)
    for row in case["steps"]:
        said = answers(subject, asked, row)
        wanted = {name: row[name] for name in row if name in said}
        assert {name: said[name] for name in wanted} == wanted, row


@every_bucket
def test_clock_that_jumps_backwards(make_store: MakeStore, algorithm: str):
    """By promise 6: at most one fresh bucket, no wait beyond a full one's, never below zero."""
    (case,) = (
        case for case in TABLES["golang_x_time_rate"]["cases"] if case.get("clock_goes_back")
    )
    subject, asked = Subject(make_store), policy(case, algorithm)
    told = [answers(subject, asked, row) for row in case["steps"]]
    longest = subject.longest_wait(asked)
    assert {said["remaining"] for said in told} <= set(range(case["burst"] + 1))
    assert max(said["retry_after"] for said in told) <= longest
    # One before the step back, what was left after it, and one for each tenth run on. GCRA takes
    # the instant that is now further ahead for a unit more.
    admitted = sum(said["allowed"] for said in told)
    assert admitted == (4 if algorithm == "gcra" else 5)
    # Run on for as long as a full bucket needs: fresh again.
    subject.wait(told[-1]["reset_after"])
    assert subject.take(asked, case["burst"]).allowed


@every_bucket
def test_long_run(make_store: MakeStore, algorithm: str):
    """A hundred a second, asked every 2 ms for five seconds: the burst, and every refill."""
    case = TABLES["golang_x_time_rate"]["long_run"]
    subject, asked = Subject(make_store), policy(case, algorithm)
    step = round(case["ask_every_s"] * 1000)
    admitted = 0
    for _ in range(0, case["for_s"] * 1000 + 1, step):
        admitted += subject.take(asked).allowed
        subject.now += step
    assert admitted == 600
    low, high = case["admitted_between"]
    assert low <= 600 <= high


#: A limit per second of a table, in whole units per whole milliseconds.
EDGES = {1e-10: (1, 315_360_000), 0.7692307692307693: (10, 13)}


@every_bucket
@pytest.mark.parametrize(
    "edge", [edge for edge in TABLES["golang_x_time_rate"]["edges"] if "limit_per_s" in edge]
)
def test_edge(make_store: MakeStore, algorithm: str, edge: dict[str, Any]):
    """A tiny rate gives no free tokens. Ours is one in ten years, the slowest that is accepted."""
    limit, seconds = EDGES[edge["limit_per_s"]]
    subject = Subject(make_store, MIDNIGHT)
    asked = quota(algorithm, limit, seconds, edge["burst"])
    assert [subject.take(asked).allowed for _ in range(edge["hits_at_0"])] == edge["allowed"]


@pytest.mark.parametrize("algorithm", TABLES["limits"]["concurrency"]["for"])
def test_concurrency_of_limits(make_store: MakeStore, algorithm: str):
    """A hundred in parallel for five a minute; the crowds of the suite are larger."""
    case = TABLES["limits"]["concurrency"]
    subject, asked = Subject(make_store), policy(case, algorithm)
    each = -(case["parallel"] // -THREADS)
    admitted = in_threads(lambda _: sum(subject.take(asked).allowed for _ in range(each)))
    assert admitted == case["admitted"]
