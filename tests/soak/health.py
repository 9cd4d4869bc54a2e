"""What the processes of the site and Redis hold, minute by minute."""

import time
from collections.abc import Iterable
from pathlib import Path
from statistics import linear_regression

import redis

from tests.servers import RedisServer

from .judge import Judge

#: What is remembered within bounds fills up for some minutes. KiB that a process may grow by in the
#: second half, whatever its length; and file descriptors that it may have more at the end.
MORE, MORE_FILES = 6 * 1024, 30
#: By how much Redis's memory may be larger in the last third than in the one before: bytes.
GROWTH = 1_500_000


class Health:
    """Samples, and what they say in the end."""

    def __init__(self, pids: Iterable[int], server: RedisServer, judge: Judge) -> None:
        self._pids, self._server, self._judge = sorted(pids), server, judge
        self._began = time.monotonic()
        #: Of each process: minutes, KiB, file descriptors.
        self.samples: dict[int, list[tuple[float, int, int]]] = {pid: [] for pid in self._pids}
        self.memory: list[int] = []
        self._client = server.client()

    def sample(self) -> None:
        """While nothing is broken."""
        minutes = (time.monotonic() - self._began) / 60
        for pid in self._pids:
            status = Path(f"/proc/{pid}/status").read_text()
            kib = int(status.split("VmRSS:")[1].split()[0])
            files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
            self.samples[pid].append((minutes, kib, files))
        self.memory.append(int(self._client.info("memory")["used_memory"]))

    def writes(self) -> int:
        """How often a bucket was written, and whatever else was."""
        return written(self._client)

    def only_admissions_write(self, before: tuple[int, int], seconds: float) -> None:
        """Since `before` (writes, admissions) nothing but admissions and heartbeats wrote."""
        after = self.writes()
        # Whoever wrote until then is answered by now.
        time.sleep(1)
        beats = len(self._pids) * (seconds / 5 + 2)
        wrote, admitted = after - before[0], self._judge.writes - before[1]
        if wrote > admitted + beats:
            self._judge.says("a refusal writes nothing", f"{wrote} writes, {admitted} admitted")

    def slope(self, pid: int) -> float:
        """KiB a minute in the second half."""
        half = self.samples[pid][len(self.samples[pid]) // 2 :]
        return linear_regression([each[0] for each in half], [each[1] for each in half]).slope

    def concludes(self) -> None:
        """Tell the judge of what has grown."""
        for pid, samples in self.samples.items():
            minutes = (samples[-1][0] - samples[0][0]) / 2
            if (slope := self.slope(pid)) * minutes > MORE:
                self._judge.says("memory does not grow", f"{slope:.0f} KiB a minute in {pid}")
            files = [each[2] for each in samples]
            if files[-1] > files[0] + MORE_FILES:
                self._judge.says("no file stays open", f"{files[0]}, at the end {files[-1]}")
        third = len(self.memory) // 3
        if max(self.memory[2 * third :]) > GROWTH + max(self.memory[third : 2 * third]):
            self._judge.says("Redis's memory stays level", self.memory)


def written(client: redis.Redis) -> int:
    """SET writes a bucket, PEXPIRE ends the writing of a log; a heartbeat is one PEXPIRE."""
    stats = client.info("commandstats")
    names = ("cmdstat_set", "cmdstat_pexpire")
    return sum(int(stats[name]["calls"]) for name in names if name in stats)
