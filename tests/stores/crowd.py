"""One process of a crowd: for each line it reads, 32 threads ask once, all at the same time.

A line names an algorithm, a client and a clock (milliseconds, or `-` for Redis's own); the answer
is a line with the number that were admitted, and of those that were answered at all.
"""

import sys
import threading

from django.conf import settings

THREADS = 32
LIMIT = 100


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(url: str) -> None:
    settings.configure()

    from django.core.cache.backends.redis import RedisCache

    from ratelimit_app.algorithms import Limit
    from ratelimit_app.stores.base import Quota, Take
    from ratelimit_app.stores.redis import RedisStore
    from ratelimit_app.stores.traced import TraceRedisStore

    real, still = RedisStore(RedisCache(url, {}), 20.0), TraceRedisStore(RedisCache(url, {}), 20.0)
    say("ready")
    for line in iter(sys.stdin.readline, "end\n"):
        algorithm, client, clock, period = line.split()
        store = real
        if clock != "-":
            store, still.now = still, int(clock)
        quota = Quota("crowd", algorithm, Limit(LIMIT, int(period), LIMIT), algorithm)
        asked, start = [Take(quota, client.encode())], threading.Barrier(THREADS)
        admitted: list[bool] = []

        def ask(store=store, asked=asked, start=start, admitted=admitted) -> None:
            start.wait()
            (decision,) = store.take(asked)
            admitted.append(decision.allowed)

        threads = [threading.Thread(target=ask) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # A thread that failed is missing, and said why on stderr.
        say(f"{sum(admitted)} {len(admitted)}")


if __name__ == "__main__":
    main(sys.argv[1])
