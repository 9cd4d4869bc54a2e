"""Holds every answer against the promises; what it finds broken is kept with its words."""

import math
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tests.chaos.load import Seen
from tests.chaos.outcomes import source
from tests.live.asking import Answer

from .meters import METERS, Bucket, Meter
from .policies import RULES, Rule

#: Seconds: the deadline of a decision, and what the server and the machine may add to it.
DEADLINE, ALLOWANCE = 0.25, 0.25
#: Seconds until everybody asks Redis again, once it is back.
RECOVERY = 1.0
#: Seconds from an edit until every process obeys.
OBEYED = 1.0
#: An answer is judged so many seconds later, when all that happened meanwhile is known.
_LATER = 3.0


class Loss(NamedTuple):
    """Somewhen between these moments buckets became fresh ones: all, or those of one policy.

    `ahead` is by how many seconds Redis's clock is ahead of ours from then on.
    """

    began: float
    ended: float
    ahead: float
    slug: str | None = None


class Judge:
    """Safe to be told of answers by one thread and of faults by another."""

    def __init__(self) -> None:
        self.broken: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self.decided: Counter[str] = Counter()
        self.took: list[int] = [0] * 2001
        #: Admissions by Redis so far, each of which is a write.
        self.writes = 0
        self._waiting: deque[Seen] = deque()
        self._meters: dict[tuple[str, str], Meter] = {}
        self._locals: dict[str, Bucket] = {}
        self._losses: list[Loss] = []
        self._lost = 0
        #: Beginnings and ends.
        self._outages: list[list[float]] = []
        self._edits: list[tuple[float, int]] = []
        self._lock = threading.Lock()
        #: From the clock of answers to the epoch.
        self._began = time.monotonic()
        self._epoch = time.time() - self._began

    def saw(self, seen: Seen) -> None:
        """An answer has come; those that came some time ago are judged."""
        self._waiting.append(seen)
        if seen.answer.status == 200 and seen.answer.headers.get("X-Source") == "redis":
            self.writes += 1
        self.settle(time.monotonic() - _LATER)

    def settle(self, until: float = math.inf) -> None:
        """Judge all that came before."""
        with self._lock:
            while self._waiting and self._waiting[0].answer.came < until:
                self._judge(self._waiting.popleft())

    @contextmanager
    def outage(self) -> Iterator[None]:
        """Redis may be asked in vain inside the block, and for as long as a recovery may take."""
        span = [time.monotonic(), math.inf]
        with self._lock:
            self._outages.append(span)
        yield
        span[1] = time.monotonic() + RECOVERY

    def lost(self, loss: Loss) -> None:
        """Buckets may have become fresh ones."""
        with self._lock:
            self._losses.append(loss)

    def edited(self, committed: float, limit: int) -> None:
        """Every process obeys this limit of the policy that is edited a second later."""
        with self._lock:
            self._edits.append((committed, limit))

    def says(self, promise: str, example: object) -> None:
        """A promise is broken."""
        self.broken[promise] += 1
        minute = (time.monotonic() - self._began) / 60
        self.examples.setdefault(promise, f"at {minute:.2f} minutes: {example}"[:300])

    def share(self, part: float) -> int:
        """Within how many ms this part of the requests was answered."""
        left = part * sum(self.took)
        for ms, count in enumerate(self.took):
            left -= count
            if left <= 0:
                return ms
        return len(self.took)

    def _judge(self, seen: Seen) -> None:
        answer = seen.answer
        self.took[min(len(self.took) - 1, math.ceil(1000 * seen.took))] += 1
        if answer.status not in (200, 429, 503) or "X-Source" not in answer.headers:
            self.says("no error of ours", (answer.status, seen.asked, answer.body))
            return
        if seen.took > DEADLINE + ALLOWANCE:
            self.says("answered in time", (round(seen.took, 3), seen.asked))
        rule = rule_of(seen)
        try:
            decided = source(answer)
        except (AssertionError, KeyError, ValueError) as error:
            self.says("decided by Redis or by on_error", (error, answer))
            return
        self.decided[decided] += 1
        if decided not in ("redis", rule.on_error):
            self.says("decided by Redis or by on_error", (decided, seen.asked))
        elif decided != "redis" and not self._excused(answer):
            self.says("enforced while Redis answers", (decided, round(seen.took, 3), seen.asked))
        if decided == "redis" and rule.slug == "edited":
            self._obeys(answer)
        if decided == "redis" and answer.status == 200:
            self._admitted(seen, rule)
        if decided == "local" and answer.status == 200 and rule.slug == "local":
            self._admitted_alone(seen, rule)

    def _excused(self, answer: Answer) -> bool:
        return any(began < answer.came and answer.sent < ended for began, ended in self._outages)

    def _obeys(self, answer: Answer) -> None:
        """By the last edit that everybody must know of, or by a newer one."""
        known = [at for at, (when, _) in enumerate(self._edits) if when + OBEYED < answer.sent]
        may = {limit for _, limit in self._edits[known[-1] if known else 0 :]}
        if self._edits and known and answer.limit not in may:
            self.says("an edit is obeyed within a second", (answer.limit, may, answer.sent))

    def _admitted(self, seen: Seen, rule: Rule) -> None:
        sent, came = seen.answer.sent, seen.answer.came
        while self._lost < len(self._losses) and self._losses[self._lost].ended < sent:
            loss = self._losses[self._lost]
            self._lost += 1
            for key in [key for key in self._meters if loss.slug in (None, key[0])]:
                del self._meters[key]
        # What was decided while buckets became fresh ones counts for neither side.
        if any(
            loss.began < came and sent < loss.ended and loss.slug in (None, rule.slug)
            for loss in self._losses
        ):
            return
        ahead = self._losses[self._lost - 1].ahead if self._lost else 0.0
        meter = self._meters.get((rule.slug, seen.asked.who))
        if meter is None:
            meter = METERS[rule.algorithm](rule)
            self._meters[rule.slug, seen.asked.who] = meter
        if not meter.admitted(sent + self._epoch, came + self._epoch, ahead):
            self.says("at most the limit", (rule, seen.asked, sent))

    def _admitted_alone(self, seen: Seen, rule: Rule) -> None:
        meter = self._locals.setdefault(seen.asked.who, Bucket(rule))
        if not meter.admitted(seen.answer.sent, seen.answer.came, 0):
            self.says("local: all processes together at most the limit", seen.asked)


def rule_of(seen: Seen) -> Rule:
    """The policy of this path."""
    return RULES[seen.asked.path.split("/")[-2]]
