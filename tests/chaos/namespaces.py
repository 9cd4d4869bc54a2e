"""Two hosts on one cable, which can be cut: network namespaces and a pair of virtual devices."""

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from tests.servers import free_port, redis_binary


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # Namespaces want root, and `ip` of iproute2.
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"


class Cable:
    """From `near` to `far`, the names of two namespaces; nothing else leads out of either."""

    NEAR, FAR = "10.255.77.1", "10.255.77.2"

    def __init__(self) -> None:
        self.near, self.far = f"rl-near-{os.getpid()}", f"rl-far-{os.getpid()}"

    def __enter__(self) -> "Cable":
        for name in (self.near, self.far):
            _run("ip", "netns", "add", name)
        ends = {"name": "rl0", "peer": "rl1"}
        _run(
            *["ip", "link", "add", ends["name"], "netns", self.near, "type", "veth"],
            *["peer", "name", ends["peer"], "netns", self.far],
        )
        for name, device, address in (
            (self.near, ends["name"], self.NEAR),
            (self.far, ends["peer"], self.FAR),
        ):
            _run("ip", "-n", name, "address", "add", f"{address}/30", "dev", device)
            _run("ip", "-n", name, "link", "set", device, "up")
        return self

    def __exit__(self, *_: object) -> None:
        for name in (self.near, self.far):
            # The devices go with them.
            _run("ip", "netns", "delete", name)

    def cut(self) -> None:
        """Nothing arrives any more, and nobody is told."""
        _run("ip", "-n", self.far, "link", "set", "rl1", "down")

    def mend(self) -> None:
        _run("ip", "-n", self.far, "link", "set", "rl1", "up")


@contextmanager
def redis_at_the_far_end(cable: Cable) -> Iterator[tuple[str, redis.Redis]]:
    """Its address, and a client that needs no network to look into it."""
    with tempfile.TemporaryDirectory(prefix="ratelimit-redis-") as folder:
        path, port = str(Path(folder) / "socket"), free_port()
        command = ["ip", "netns", "exec", cable.far, redis_binary(), "--port", str(port)]
        command += ["--bind", cable.FAR, "--protected-mode", "no", "--unixsocket", path]
        command += ["--save", "", "--dir", folder, "--logfile", f"{folder}/log"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        client = redis.Redis(unix_socket_path=path)
        try:
            deadline = time.monotonic() + 10
            answered = False
            while not answered:
                assert time.monotonic() < deadline, "redis-server does not answer"
                with contextlib.suppress(redis.ConnectionError):
                    answered = bool(client.ping())
            yield f"redis://{cable.FAR}:{port}/0", client
        finally:
            client.close()
            process.terminate()
            process.wait(10)
