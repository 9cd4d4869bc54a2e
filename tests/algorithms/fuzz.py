"""`make fuzz MINUTES=10`: the machine of test_twins.py from ever new seeds, until time is up."""

import itertools
import sys
import time

from django.conf import settings as django_settings
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test


def main(minutes: float) -> None:
    django_settings.configure()

    from django.core.cache.backends.redis import RedisCache

    from ratelimit_app.algorithms import ALGORITHMS
    from ratelimit_app.stores.traced import TraceRedisStore
    from tests.algorithms.twins import machine
    from tests.servers import RedisServer

    server, end, steps = RedisServer(), time.monotonic() + 60 * minutes, 100
    store = TraceRedisStore(RedisCache(server.url, {}), 20.0)
    try:
        for turn, algorithm in enumerate(itertools.cycle(ALGORITHMS)):
            if time.monotonic() > end:
                break
            run_state_machine_as_test(
                machine(algorithm, store, server.client()),
                settings=settings(
                    max_examples=100,
                    stateful_step_count=steps,
                    deadline=None,
                    database=None,
                    print_blob=True,
                ),
            )
            sys.stdout.write(f"\r{100 * (turn + 1)} histories of {steps} steps, all equal")
            sys.stdout.flush()
    finally:
        sys.stdout.write("\n")
        store.close()
        server.stop()


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 10)
