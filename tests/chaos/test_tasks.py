"""A thousand tasks at once, half of them cancelled: nobody gets another's answer."""

import asyncio
import random
import threading
import time
from typing import Any

import pytest
from django.core.cache.backends.redis import RedisCache

from ratelimit_app.algorithms import Limit
from ratelimit_app.stores import Quota, Take
from ratelimit_app.stores.redis import RedisStore

from .conftest import load
from .inside import know_each_other, told
from .load import Asked
from .outcomes import KINDS, assert_answered, assert_by_redis, between, figures, share, source

pytestmark = pytest.mark.chaos

TASKS = 1000
#: As many connections as redis-py allows a pool.
POOL = 100


async def takes(store, number, loop, replies):
    """Six, one after the other; a capacity of its own tells this client's answers from others'."""
    limit = Limit(1000 + number, 864_000_000, 1000 + number)
    take = Take(Quota("tasks", "gcra", limit, "tasks"), f"{loop}-{number:013}".encode())
    for used in range(1, 7):
        (decision,) = await store.atake([take])
        replies.append((decision.remaining, 1000 + number - used))
        await asyncio.sleep(0)


async def storm(store, name, seed, replies):
    """All at once, half of them cancelled at some moment; how many came to their end."""
    chance = random.Random(seed)
    # A site that has run for a while has its connections.
    await asyncio.gather(*(takes(store, number, -name, replies) for number in range(TASKS // 2)))
    tasks = [asyncio.create_task(takes(store, number, name, replies)) for number in range(TASKS)]
    loop = asyncio.get_running_loop()
    for task in tasks[::2]:
        loop.call_later(chance.random() * 1.5, task.cancel)
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    # What a cancelled call left to be done is soon done.
    await asyncio.sleep(0.3)
    left = asyncio.all_tasks() - {asyncio.current_task()}
    errors = [each for each in ended if isinstance(each, Exception)]
    return ended.count(None), left, errors


def test_two_loops_and_cancelled_tasks_mix_no_answers_and_leave_nothing(server):
    # Long enough for a machine on which a thousand tasks take their time.
    store = RedisStore(RedisCache(server.url, {}), timeout=10)
    client = server.client()
    before = client.info("stats")["total_connections_received"]
    found: dict[int, Any] = {}
    replies: list[tuple[int, int]] = []

    def run(name):
        found[name] = asyncio.run(storm(store, name, 7 * name, replies))

    threads = [threading.Thread(target=run, args=(name,)) for name in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    opened = client.info("stats")["total_connections_received"] - before
    ended = [each[0] for each in found.values()]
    print(
        f"{ended} of {TASKS} tasks came to their end; {opened} connections; {len(replies)} replies"
    )
    assert [pair for pair in replies if pair[0] != pair[1]] == []
    assert [each[1] for each in found.values()] == [set(), set()]
    assert [each[2] for each in found.values()] == [[], []]
    assert min(ended) >= TASKS / 2
    assert max(ended) < TASKS
    assert opened <= 2 * POOL
    assert len(client.client_list()) == 1


async def impatient(port, who, gives_up):
    """A request whose client may hang up before the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /async/closed/ HTTP/1.0\r\nX-Client: {who}\r\n\r\n".encode())
    try:
        if gives_up is not None:
            await asyncio.sleep(gives_up)
            return b""
        return await reader.read()
    finally:
        writer.transport.abort()


async def crowd(port, name, patience):
    """All at once; if there is a patience (in seconds), every other one has it at most."""
    chance = random.Random(11)
    waits = [
        chance.random() * patience if patience and number % 2 else None for number in range(TASKS)
    ]
    asked = [impatient(port, f"{name}-{at}", wait) for at, wait in enumerate(waits)]
    return await asyncio.gather(*asked)


def test_clients_that_hang_up_leave_neither_tasks_nor_connections(make, server):
    uvicorn = make(server.url, ratelimit={"TIMEOUT": 10, "DEADLINE": 25}).uvicorn()
    uvicorn.wait(1)
    client = server.client()
    opened = client.info("stats")["total_connections_received"]

    # A site that has run for a while has its connections.
    asyncio.run(crowd(uvicorn.port, "patient", None))
    (before,) = told(uvicorn).values()
    answers = [each for each in asyncio.run(crowd(uvicorn.port, "task", 2)) if each]

    opened = client.info("stats")["total_connections_received"] - opened
    time.sleep(0.5)
    (after,) = told(uvicorn).values()
    print(f"{len(answers)} of {TASKS} answered; {opened} connections")
    assert len(answers) >= TASKS / 2
    assert [each for each in answers if b" 200 OK" not in each or b";r=19" not in each] == []
    assert after["tasks"] == before["tasks"]
    assert after["counts"] == {}
    assert opened <= POOL


def test_the_loop_is_not_held_while_redis_hangs(make, server):
    uvicorn = make(server.url).uvicorn()
    uvicorn.wait(1)
    know_each_other(uvicorn)

    def asks(number):
        return Asked(f"/async/{KINDS[number % 3]}/", f"new-{number}")

    with load(uvicorn, rate=100, asks=asks) as requests:
        time.sleep(1)
        server.pause()
        time.sleep(4)
        server.resume()
        back = time.monotonic()
        time.sleep(2)
        (after,) = told(uvicorn).values()

    # While it hung, and as it woke.
    late = sorted(after["late"][-500:])
    p99 = late[int(0.99 * len(late))]
    seen = requests.seen
    print(
        f"{figures(seen)}; the loop was late by {1000 * p99:.1f} ms (p99), {1000 * late[-1]:.1f} ms"
    )
    assert_answered(seen, requests.sent)
    assert_by_redis(between(seen, back + 1))
    assert {source(each.answer) for each in seen} == {"redis", *KINDS}
    assert share(seen, 0.99) <= 0.15
    assert p99 <= 0.02
