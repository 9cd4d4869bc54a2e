"""Tries mutants: each in a process of its own that has loaded everything but the app already."""

import os
import resource
import signal
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType, ModuleType
from typing import NamedTuple

import redis

from tests.servers import RedisServer

from .mutant import ROOT, Mutant
from .stages import Stage, stages

#: What the app and its tests import from elsewhere: once, before the first fork.
PRELOADED = (
    "django.core.cache.backends.redis",
    "django.core.cache.backends.locmem",
    "django_redis.cache",
    "hypothesis.stateful",
    "pytest_django.plugin",
    "rest_framework.throttling",
    "xdist.plugin",
)


class Outcome(NamedTuple):
    mutant: Mutant
    #: The stage that noticed it; None: it survived.
    killer: str | None


class _Loader(SourceFileLoader):
    """Loads a text in place of the file."""

    text = ""

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.text, self.path, "exec")


class _Finder(MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self.name = mutant.file.removesuffix(".py").replace("/", ".")
        self.loader = _Loader(self.name, str(ROOT / mutant.file))
        self.loader.text = mutant.source

    def find_spec(
        self, fullname: str, path: object, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        return spec_from_file_location(fullname, self.loader.path, loader=self.loader)


def put_in_place(mutant: Mutant) -> None:
    """From now on this process has the mutant and not the file."""
    assert "ratelimit_app" not in sys.modules
    if mutant.file.endswith(".py"):
        sys.meta_path.insert(0, _Finder(mutant))
        return
    from ratelimit_app.stores import script

    read, file = script._text, mutant.file

    def text(folder: str, stem: str) -> str:
        mutated = file == f"ratelimit_app/{folder}/{stem}.lua"
        return mutant.source if mutated else read(folder, stem)

    script._text = text


class Slot:
    """Tries one mutant after the other, with a Redis of its own."""

    def __init__(self, quick: bool) -> None:
        self.mutant: Mutant | None = None
        self._quick = quick
        self._start_redis()

    def start(self, mutant: Mutant) -> None:
        self.mutant, self._stages = mutant, iter(stages(mutant.file, self._quick))
        self._failed = 0
        self._refresh_redis()
        self._fork(next(self._stages))

    def poll(self) -> Outcome | None:
        """The outcome, once it is known."""
        assert self.mutant is not None
        pid, status = os.waitpid(self._pid, os.WNOHANG)
        if pid == 0:
            if time.monotonic() < self._deadline:
                return None
            os.killpg(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            status = -1
        self._failed = self._failed + 1 if status else 0
        again = self._stage if 0 < self._failed < self._stage.times else None
        stage = again if status else next(self._stages, None)
        if stage is not None:
            self._fork(stage)
            return None
        outcome = Outcome(self.mutant, self._stage.name if status else None)
        self.mutant = None
        return outcome

    def close(self) -> None:
        if self.mutant is not None:
            os.killpg(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        self._client.close()
        self._redis.stop()

    def _fork(self, stage: Stage) -> None:
        assert self.mutant is not None
        self._stage, self._deadline = stage, time.monotonic() + stage.seconds
        self._pid = os.fork()
        if self._pid == 0:
            os.setsid()
            _run_and_leave(stage, self.mutant, self._redis.url)

    def _start_redis(self) -> None:
        self._redis = RedisServer()
        gigabyte = 2**30
        resource.prlimit(self._redis.pid, resource.RLIMIT_AS, (gigabyte, gigabyte))
        self._client = redis.Redis(port=self._redis.port, socket_timeout=2)

    def _refresh_redis(self) -> None:
        """Empty; a new one where a mutant hangs in the old one, or has brought it down."""
        try:
            self._client.flushall()
            self._client.script_flush()
        except (redis.RedisError, OSError):
            self._client.close()
            os.kill(self._redis.pid, signal.SIGKILL)
            self._redis.stop()
            self._start_redis()


def _run_and_leave(stage: Stage, mutant: Mutant, url: str) -> None:
    """In the child: not a word, and none of the parent's clean-up."""
    code = 1
    try:
        with open(os.devnull, "r+b") as nothing:
            for stream in (0, 1, 2):
                os.dup2(nothing.fileno(), stream)
        resource.setrlimit(resource.RLIMIT_CPU, (stage.cpu, stage.cpu))
        resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))
        put_in_place(mutant)
        code = 0 if stage.passes(url) else 1
    except BaseException:
        code = 1
    finally:
        os._exit(code)


def tried(mutants: Iterable[Mutant], jobs: int, quick: bool) -> Iterator[Outcome]:
    """The outcome of each mutant, as it comes; `quick` leaves out all stages but the first."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    for name in PRELOADED:
        __import__(name)
    waiting, slots = deque(mutants), [Slot(quick) for _ in range(jobs)]
    try:
        while waiting or any(slot.mutant for slot in slots):
            for slot in slots:
                if slot.mutant is None:
                    if waiting:
                        slot.start(waiting.popleft())
                elif (outcome := slot.poll()) is not None:
                    yield outcome
            time.sleep(0.002)
    finally:
        for slot in slots:
            slot.close()
