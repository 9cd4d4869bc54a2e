"""The generators find every operator of a sample; and a mutant that is planted is killed."""

import subprocess
import sys

import pytest

from .lua import lua_mutants
from .mutant import FILES, ROOT, distinct, generate
from .python import python_mutants

PYTHON = '''
MOST = 5
def take(state: int | None, cost: int = 0) -> int:
    """Left alone: 1 < 2."""
    if cost > MOST or not state:
        return 0, -1
    count = max(state, cost) * 2 // 3
    count += 1
    with lock:
        save(count, cost)
    return (count if cost else 0) - 1
'''
OF_PYTHON = [
    "module: `MOST = 5` → `MOST = 6`",
    "module: `MOST = 5` → `MOST = 4`",
    "take: `cost > MOST or not state` → `cost > MOST and (not state)`",
    "take: `cost > MOST` → `cost >= MOST`",
    "take: `cost > MOST` → `cost <= MOST`",
    "take: `not state` → `state`",
    "take: `(0, -1)` → `(-1, 0)`",
    "take: `-1` → `1`",
    "take: `max(state, cost)` → `min(state, cost)`",
    "take: `max(state, cost) * 2 // 3` → `max(state, cost) * 2 * 3`",
    "take: `max(state, cost) * 2` → `max(state, cost) // 2`",
    "take: `max(state, cost) * 2` → `max(state, cost) * 3`",
    "take: `count = max(state, cost) * 2 // 3` → `pass`",
    "take: `count += 1` → `count -= 1`",
    "take: `count += 1` → `pass`",
    "take: `with lock:` → `unguarded`",
    "take: `save(count, cost)` → `save(cost, count)`",
    "take: `save(count, cost)` → `pass`",
    "take: `count if cost else 0` → `count if not cost else 0`",
    "take: `(count if cost else 0) - 1` → `(count if cost else 0) + 1`",
]

LUA = """
-- Left alone: 1 < 2.
return function(state, cost)
  local room, spent = 5 % cost, false
  if state and not (cost <= room) then return math.floor(cost / 2), -1 end
  if state then spent = true end
  redis.call('SET', key, state, 'PX', ms)
  if redis.call('PTTL', key) == -1 then redis.call('PEXPIRE', key, ms) end
  return room ~= 0 and { room, spent } or math.min(room, cost)
end
"""
OF_LUA = [
    "`local room, spent = 5 % cost, false` → `local room, spent = 6 % cost, false`",
    "`local room, spent = 5 % cost, false` → `local room, spent = 5 / cost, false`",
    "`local room, spent = 5 % cost, false` → `local room, spent = 5 % cost, true`",
    "`local room, spent = 5 % cost, false` → `local room, spent = false, 5 % cost`",
    "`local room, spent = 5 % cost, false` → `local room, spent`",
    "`if state then spent = true end` → `if not (state) then spent = true end`",
    "`if state then spent = true end` → `if state then end`",
    "`redis.call('SET', key, state, 'PX', ms)` → ``",
    "`redis.call('SET', key, state, 'PX', ms)` → `redis.call('SET', key, state)`",
    "`redis.call('SET', key, state, 'PX', ms)` → `redis.call('SET', state, key, 'PX', ms)`",
]
#: Within the longer lines.
PIECES_OF_LUA = [
    "state or not (cost <= room)",
    "state and (cost <= room)",
    "cost < room",
    "cost > room",
    "math.ceil(cost / 2), -1",
    "return (cost / 2), -1",
    "math.floor(cost * 2)",
    "math.floor(cost / 3)",
    "return -1, math.floor(cost / 2)",
    "(cost / 2), 1 end",
    "if false == -1 then",
    "== -1 then end",
    "redis.call('PTTL', key) ~= -1",
    "room == 0",
    "{ spent, room }",
    "{ room, spent } and",
    "math.max(room, cost)",
]


def test_operators_of_python():
    assert not set(OF_PYTHON) - {each.change for each in python_mutants("a.py", PYTHON)}
    assert all("2 or" not in each.change for each in python_mutants("a.py", PYTHON))


def test_operators_of_lua():
    found = [each.change.partition(" → ") for each in lua_mutants("a.lua", LUA)]
    assert not set(OF_LUA) - {"".join(each) for each in found}
    assert [piece for piece in PIECES_OF_LUA if all(piece not in new for _, _, new in found)] == []


def test_every_mutant_is_another_program_and_has_a_name_of_its_own():
    """Of a file of each kind: Python, Lua, and Python with Lua in it."""
    files = [file for file in FILES if "gcra" in file or "script" in file]
    mutants = generate(files)
    assert {each.file for each in mutants} == set(files)
    assert mutants == generate(files)
    assert len({each.name for each in mutants}) == len(mutants)
    assert len({(each.file, each.source) for each in mutants}) == len(mutants)
    for each in mutants:
        if each.file.endswith(".py"):
            compile(each.source, each.file, "exec")


def test_a_change_that_stands_twice_has_two_names():
    names = [each.change for each in distinct(lua_mutants("a.lua", "f(1)\nf(1)"))]
    assert names == [
        "`f(1)` → ``",
        "`f(1)` → `f(2)`",
        "`f(1)` → `f(0)`",
        "`f(1)` → `` #2",
        "`f(1)` → `f(2)` #2",
        "`f(1)` → `f(0)` #2",
    ]


@pytest.mark.parametrize(
    ("file", "change", "count"),
    [
        # A unit too many or too few; a debt that is never paid.
        ("fixed_window.py", "`count + cost <= most` →", 2),
        ("gcra.lua", "→ `debt = math.min(0, ", 1),
    ],
)
def test_planted_mutants_are_killed(file: str, change: str, count: int):
    """In processes of their own, as `make mutants` does it."""
    command = [sys.executable, "-m", "tests.mutation", "--quick", "--jobs", "1"]
    command += ["--file", file, "--only", change]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == f"{count} of {count} killed, 0 survived\n", done.stderr
    assert done.returncode == 0
