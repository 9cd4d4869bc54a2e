"""`python -m tests.mutation`: make the mutants, try each, and write docs/mutants.md."""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from .arguments import ARGUMENTS
from .mutant import FILES, ROOT, SLOW, Mutant, generate
from .report import report
from .trial import Outcome, tried

#: The share that must be killed, in percent.
ENOUGH = 95
#: The program as it is, in the place of a mutant.
UNCHANGED = "unchanged"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--file", default="", metavar="NAME", help="files with this in their path")
    parser.add_argument("--only", default="", metavar="TEXT", help="changes with this in them")
    parser.add_argument("--quick", action="store_true", help="try them against the histories only")
    parser.add_argument("--list", action="store_true", help="name the mutants and try none")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    options = parser.parse_args()
    mutants = generate(_named(options.file))
    mutants = [each for each in mutants if options.only in each.change]
    if options.list:
        _say(*(f"{each.file}:{each.line}: {each.change}" for each in mutants))
        return 0
    outcomes = _tried(mutants, options.jobs, options.quick)
    survivors = [each.mutant for each in outcomes if each.killer is None]
    killed = len(outcomes) - len(survivors)
    reasons = {name: reason for reason, names in ARGUMENTS.items() for name in names}
    open_ = [each for each in survivors if each.name not in reasons]
    _say(*(f"no argument for {each.file}:{each.line}: {each.change}" for each in open_))
    if not (options.file or options.only or options.quick):
        (ROOT / "docs" / "mutants.md").write_text(report(outcomes, reasons), "utf-8")
        idle = sorted(reasons.keys() - {each.name for each in survivors})
        _say(*(f"argued for, and killed or gone: {name}" for name in idle))
    _say(f"{killed} of {len(outcomes)} killed, {len(survivors)} survived")
    return int(bool(open_) or 100 * killed < ENOUGH * len(outcomes))


def _named(part: str) -> list[str]:
    """The files of the report, or those with this in their path."""
    return [file for file in (*FILES, *SLOW) if part in file] if part else list(FILES)


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def _tried(mutants: list[Mutant], jobs: int, quick: bool) -> list[Outcome]:
    """Outcomes in the order of the mutants. The program as it is goes first, and must survive."""
    files = dict.fromkeys(each.file for each in mutants)
    same = [Mutant(file, 0, UNCHANGED, (ROOT / file).read_text("utf-8")) for file in files]
    outcomes, started = {}, time.time()
    for outcome in tried([*same, *mutants], jobs, quick):
        mutant, killer = outcome
        outcomes[mutant.name] = outcome
        if mutant.change == UNCHANGED:
            if killer is not None:
                sys.exit(f"{mutant.file}: the {killer} fail before anything is changed")
        elif killer is None:
            _say(f"{mutant.file}:{mutant.line}: survived: {mutant.change}")
        if len(outcomes) % 50 == 0:
            seconds = time.time() - started
            _say(f"{len(outcomes)} of {len(same) + len(mutants)} in {seconds:.0f} s")
    edited = [path for path in _sources() if path.stat().st_mtime > started]
    if edited:
        sys.exit(f"{edited[0]} was edited meanwhile: who knows what was tried; run it again")
    return [outcomes[each.name] for each in mutants]


def _sources() -> Iterator[Path]:
    for folder in ("ratelimit_app", "tests"):
        yield from (path for path in (ROOT / folder).rglob("*.*") if path.suffix in (".py", ".lua"))


if __name__ == "__main__":
    sys.exit(main())
