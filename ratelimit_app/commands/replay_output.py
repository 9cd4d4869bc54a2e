"""What `replay` prints: a summary, or one line a request; and how far it is."""

import json
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Protocol

from django.core.management.base import OutputWrapper

from ratelimit_app.algorithms import Decision
from ratelimit_app.policies import CompiledPolicy
from ratelimit_app.traces import EPOCH, LATEST, Hit

from .words import limit_words, seconds, shown, table

#: How many of the most refused keys are named.
_MOST = 10


class Output(Protocol):
    """Is told of each request, in the order of time, and then of the end."""

    def add(self, hit: Hit, decision: Decision) -> None:
        """One more request."""
        ...

    def end(self, policy: CompiledPolicy, store: str) -> None:
        """That was all."""
        ...


class JsonLines:
    """One JSON object a request, as it is decided."""

    def __init__(self, out: OutputWrapper) -> None:
        self._out = out

    def add(self, hit: Hit, decision: Decision) -> None:
        """See `Output.add`."""
        line = {
            "t": _plain(hit.t / 1000),
            "key": hit.key,
            "allowed": decision.allowed,
            "limit": decision.limit,
            "remaining": decision.remaining,
            "retry_after": _plain(decision.retry_after),
            "reset_after": _plain(decision.reset_after),
        }
        self._out.write(json.dumps(line))

    def end(self, policy: CompiledPolicy, store: str) -> None:
        """See `Output.end`."""


class Summary:
    """How many were admitted, over which time, and who was refused most."""

    def __init__(self, out: OutputWrapper) -> None:
        self._out = out
        self._requests: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._first = self._last = 0

    def add(self, hit: Hit, decision: Decision) -> None:
        """See `Output.add`."""
        if not self._requests:
            self._first = hit.t
        self._last = hit.t
        self._requests[hit.key] += 1
        if not decision.allowed:
            self._refused[hit.key] += 1

    def end(self, policy: CompiledPolicy, store: str) -> None:
        """See `Output.end`."""
        requests, refused = self._requests.total(), self._refused.total()
        quota = policy.quota
        span = seconds((self._last - self._first) / 1000)
        self._out.write(f"policy:   {quota.algorithm}, {limit_words(quota.limit)} ({store})")
        self._out.write(f"span:     {_moment(self._first)} to {_moment(self._last)} UTC ({span})")
        self._out.write(f"keys:     {len(self._requests)}")
        self._out.write(f"requests: {requests}")
        self._out.write(f"admitted: {requests - refused}")
        self._out.write(f"refused:  {refused} ({refused / max(1, requests):.1%})")
        if refused:
            rows = [
                (shown(key), str(self._requests[key]), str(count))
                for key, count in self._refused.most_common(_MOST)
            ]
            self._out.write("\n" + table([("most refused", "requests", "refused"), *rows]))


OUTPUTS: dict[str, Callable[[OutputWrapper], Output]] = {"summary": Summary, "jsonl": JsonLines}


class Progress:
    """A bar, if one is wanted, for what takes longer than a moment."""

    def __init__(self, err: OutputWrapper, total: int, *, wanted: bool) -> None:
        self._err, self._total = err, total
        self._done = 0
        self._next = time.monotonic() + 0.5
        self._drawn = False
        self._wanted = wanted

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._drawn:
            self._draw("\r" + " " * 40 + "\r")

    def step(self) -> None:
        """One more request is done."""
        self._done += 1
        if not self._wanted or self._done % 64:
            return
        now = time.monotonic()
        if now >= self._next:
            self._next = now + 0.1
            share = self._done / self._total
            self._draw(f"\r[{'#' * int(30 * share):30}] {share:4.0%}")
            self._drawn = True

    def _draw(self, text: str) -> None:
        self._err.write(text, style_func=str, ending="")
        self._err.flush()


def _plain(value: float | None) -> float | None:
    """A whole number without its `.0`."""
    return int(value) if value is not None and value == int(value) else value


def _moment(ms: int) -> str:
    when = EPOCH + timedelta(milliseconds=min(ms, LATEST * 1000 - 1))
    return when.strftime("%Y-%m-%d %H:%M:%S")
