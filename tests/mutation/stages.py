"""What a mutant has to pass, quickest first: parts of what `make test` runs."""

from collections.abc import Callable
from dataclasses import dataclass

from .mutant import ALGORITHMS, KEYS

#: As in tests/algorithms/test_histories.py.
SEEDS, STEPS = 100, 60

#: The tests of the stores in Redis, quick ones first; the first are of the seam.
REDIS = ("seam", "writes", "giving", "expiry", "budget")


@dataclass(frozen=True, slots=True)
class Stage:
    """`passes` is called in a fresh process with the URL of an empty Redis; `seconds` and `cpu`
    (seconds too) bound it: a mutant that runs on and on is noticed as well.

    It counts as noticed when the stage fails `times` in a row: tests of real clocks and of threads
    may fail by themselves, now and then, on a machine that is busy.
    """

    name: str
    passes: Callable[[str], bool]
    seconds: int
    cpu: int
    times: int = 1


def stages(file: str, quick: bool) -> list[Stage]:
    """The stages for a mutant of this file."""
    stem = file.rsplit("/", maxsplit=1)[-1].split(".", maxsplit=1)[0]
    names = (stem,) if stem in ALGORITHMS else ALGORITHMS
    if stem in KEYS:
        return [Stage("tests", lambda _: passes_tests(selection(file)), 600, 240)]
    told = Stage("histories", lambda url: histories(url, names), 120, 4 * len(names))
    tests = Stage("tests", lambda _: passes_tests(selection(file)), 600, 240, 2)
    return [told] if quick else [told, tests]


def histories(url: str, names: tuple[str, ...]) -> bool:
    """The twins answer alike, keep the same states and set the same expiry."""
    from django.core.cache.backends.redis import RedisCache

    from tests.algorithms.telling import SlowRedisStore, tell

    redis = SlowRedisStore(RedisCache(url, {}), 10.0)
    for seed in range(SEEDS):
        for name in names:
            tell(redis, name, seed, STEPS)
    return True


def selection(file: str) -> list[str]:
    """The arguments of pytest: files of tests, quick ones first, and which of their tests."""
    stem, kind = file.rpartition("/")[-1].split(".")
    if stem in KEYS:
        kinds = _in("keys", "kinds", "functions", "addresses", "hostile", "digests", "forged")
        return [*kinds, *_in("privacy", "keys"), "tests/doors/test_users.py"]
    contract = _in("algorithms", "gcra", "contract", "reference", "giving", "long_log")
    suite = _in("stores", "cases", "conformance")
    memory = _in("stores", "memory_room", "memory_locks", "memory")
    crowds = _in("stores", "memory_crowds", "memory_budget")
    redis = _in(
        "stores", "redis_seam", "redis_writes", "redis_giving", "redis_expiry", "redis_budget"
    )
    if stem in ALGORITHMS and kind == "py":
        files = [*contract, *_in("policies", "validators"), *memory, *suite]
        return [*files, "-k", f"validators or long_log or {stem} and not django"]
    by_lua = "not memory and not django-redis and not threads and not tasks"
    if stem in ALGORITHMS:
        return [contract[-1], *redis, *suite, "-k", f"long_log or {stem} and {by_lua}"]
    if stem in ("memory", "shards"):
        clock = _in("time", "memory_clock")
        return [*memory, *clock, *suite, *crowds, "-k", "not django"]
    if stem == "traced":
        return [redis[0], *_in("commands", "traced", "replay"), *suite, "-k", by_lua]
    if file == "ratelimit_app/algorithms/base.py":
        return [*contract, *_in("policies", "validators"), *suite, "-k", "not django"]
    if file == "ratelimit_app/stores/base.py":
        return [*_in("stores", "words"), *redis, *suite, "-k", "not django-redis"]
    return [*redis, *suite, "-k", by_lua]


def _in(folder: str, *names: str) -> list[str]:
    return [f"tests/{folder}/test_{name}.py" for name in names]


def passes_tests(arguments: list[str]) -> bool:
    """Whether these tests of the suite pass; they end at the first that fails."""
    import pytest
    from hypothesis import Phase, settings

    # No search for the shortest failure, and none is kept: it is no failure of the program.
    phases = (Phase.explicit, Phase.generate)
    settings.register_profile(
        "mutants", deadline=None, derandomize=True, database=None, phases=phases
    )
    options = "-x -q --assert=plain -p no:cacheprovider --hypothesis-profile=mutants"
    return pytest.main([*options.split(), *arguments]) == 0
