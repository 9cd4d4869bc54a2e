"""What the work costs at the least. Nobody tunes these: all others are measured against them."""

import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import redis
from django.http import HttpRequest, HttpResponse

HEADERS = {"RateLimit-Policy": '"x";q=10;w=60', "RateLimit": '"x";r=9;t=6', "X-Floor": "1"}

#: GCRA in Redis with nothing around it: one key, one instant.
BARE_GCRA = """
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local tat = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now)
local new = tat + ARGV[1]
if new - now > tonumber(ARGV[2]) then return {0, tat - now} end
redis.call('SET', KEYS[1], string.format('%.0f', new), 'PX', math.ceil((new - now) / 1000))
return {1, new - now}
"""


def in_process(step: float, most: float) -> Callable[..., bool]:
    """A lock, a dict, and GCRA in eight lines; `step` and `most` are seconds."""
    lock, instants, clock = threading.Lock(), dict[str, float](), time.monotonic

    def take(key: str = "k") -> bool:
        with lock:
            now = clock()
            tat = max(instants.get(key, now), now)
            if tat + step - now > most:
                return False
            instants[key] = tat + step
            return True

    return take


def no_op(client: redis.Redis) -> Callable[[], Any]:
    """An EVALSHA that does nothing, through redis-py's client."""
    sha = client.script_load("return {1, 2, 3, 4}")
    return lambda: client.evalsha(sha, 1, "k", "a")


def bare_gcra(client: redis.Redis) -> Callable[[], Any]:
    """GCRA by EVALSHA, through redis-py's client."""
    sha = client.script_load(BARE_GCRA)
    return lambda: client.evalsha(sha, 1, "k", "1", "1000000000000")


def held_gcra(client: redis.Redis) -> Callable[[], Any]:
    """GCRA by EVALSHA, through a connection of redis-py that is held, without its client."""
    sha = client.script_load(BARE_GCRA)
    connection: Any = client.connection_pool.make_connection()
    connection.connect()

    def take() -> Any:
        connection.send_command("EVALSHA", sha, 1, "k", "1", "1000000000000")
        return connection.read_response()

    return take


def raw_gcra(client: redis.Redis, port: int) -> Callable[[], Any]:
    """GCRA by EVALSHA, packed once, on a bare socket whose answer nobody parses."""
    parts = ["EVALSHA", client.script_load(BARE_GCRA), "1", "k", "1", "1000000000000"]
    packed = f"*{len(parts)}\r\n" + "".join(f"${len(each)}\r\n{each}\r\n" for each in parts)
    command, line = packed.encode(), socket.create_connection(("127.0.0.1", port))
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    send, receive = line.sendall, line.recv

    def take() -> bytes:
        send(command)
        return receive(4096)

    return take


def ano_op(client: Any, sha: str) -> Callable[[], Any]:
    """`no_op`, through redis-py's asynchronous client."""

    async def take() -> Any:
        return await client.evalsha(sha, 1, "k", "a")

    return take


class InProcess:
    """A middleware that decides in process and sends three headers."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.take = in_process(1e-9, 1.0)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        self.take()
        response = self.get_response(request)
        for name, value in HEADERS.items():
            response[name] = value
        return response


class Refusing(InProcess):
    """A middleware that refuses in process: what a refusal costs when nobody asks Redis."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        super().__init__(get_response)
        self.take = in_process(86_400.0, 86_400.0)
        self.take()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if self.take():
            return self.get_response(request)
        return HttpResponse(b"no", status=429, headers=HEADERS | {"Retry-After": "60"})


class OverRedis(InProcess):
    """A middleware that decides by bare GCRA in Redis and sends three headers."""

    client: redis.Redis

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        super().__init__(get_response)
        self.take = bare_gcra(self.client)


class RefusingOverRedis(Refusing):
    """A middleware that refuses by bare GCRA in Redis, in one trip for each refusal."""

    client: redis.Redis

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        super().__init__(get_response)
        sha, evalsha = self.client.script_load(BARE_GCRA), self.client.evalsha
        # A step beyond what is allowed: nothing is ever admitted, or written.
        self.take = lambda: evalsha(sha, 1, "refused", "2", "1")[0] == 1
