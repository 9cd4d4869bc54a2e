"""Which store a process has."""

import sys
import threading

from ratelimit_app import stores


def test_threads_that_come_first_at_once_get_one_store():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(100):
            stores._after_fork()
            found: list[stores.Store] = []
            start = threading.Barrier(8)

            def ask(start=start, found=found):
                start.wait()
                found.append(stores.current())

            threads = [threading.Thread(target=ask) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(set(map(id, found))) == 1
    finally:
        sys.setswitchinterval(interval)
