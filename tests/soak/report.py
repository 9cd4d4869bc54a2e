"""The table at the end of a soak."""

from tests.chaos.load import Load
from tests.live.processes import Server

from .health import Health
from .judge import ALLOWANCE, DEADLINE, Judge

PROMISES = (
    "at most the limit",
    "local: all processes together at most the limit",
    "answered in time",
    "every request is answered",
    "decided by Redis or by on_error",
    "enforced while Redis answers",
    "no error of ours",
    "a refusal writes nothing",
    "an edit is obeyed within a second",
    "memory does not grow",
    "no file stays open",
    "Redis's memory stays level",
)


def report(judge: Judge, health: Health, servers: list[Server], load: Load, seconds: float) -> None:
    """Print it, and above it what the servers have said of the limiter."""
    for server in servers:
        lines = [line for line in server.output().splitlines() if line.startswith("ratelimit_app")]
        print(f"\n{len(lines)} lines in the log; the last:", *lines[-10:], sep="\n")
    print(f"\n{load.sent} requests in {seconds:.0f} s; decided by {dict(judge.decided)}")
    print(
        f"answered within: p50 {judge.share(0.5)} ms, p99 {judge.share(0.99)} ms, "
        f"max {judge.share(1)} ms (allowed: {1000 * (DEADLINE + ALLOWANCE):.0f} ms); "
        f"the client itself was late by {1000 * load.late:.0f} ms at most"
    )
    for pid, samples in health.samples.items():
        print(
            f"process {pid}: {samples[0][1] // 1024} MiB at first, {samples[-1][1] // 1024} at the "
            f"end, {health.slope(pid):+.0f} KiB a minute in the second half; "
            f"{samples[0][2]} files, at the end {samples[-1][2]}"
        )
    memory = [each / 1e6 for each in health.memory]
    print(f"Redis: {memory[0]:.1f} MB at first, at most {max(memory):.1f}, then {memory[-1]:.1f}\n")
    assert set(judge.broken) <= set(PROMISES)
    for promise in PROMISES:
        example = judge.examples.get(promise, "")
        print(f"{judge.broken[promise]:8} × broken: {promise}  {example}")
