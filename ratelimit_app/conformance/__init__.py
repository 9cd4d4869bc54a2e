"""What any store must do, as tests: import them, and say how your store is made.

    # tests/test_my_store.py
    import pytest
    from ratelimit_app.conformance import *
    from my_site.stores import MyStore

    @pytest.fixture(scope="module")
    def make_store():
        return lambda now: MyStore(clock=now)

`make_store(now)` gives a store (see `ratelimit_app.stores.Store`) that reads its clock from `now`,
a function without arguments that returns milliseconds since the epoch; the tests set the time and
never sleep. It may give the same store again with another clock: every test asks for clients of its
own, so nothing must be empty. Let buckets live by the clock they are given, or a good while longer,
and leave nothing open when an event loop ends.

The suite needs pytest and Hypothesis. For readable failures say, in your conftest.py and before the
import, `pytest.register_assert_rewrite("ratelimit_app.conformance")`.

Read it as a specification: `counting`, `waiting`, `together`, `giving`, `clocks`, `edits` and
`crowds` are worked examples, one promise each; `promises` states them for all numbers.
"""

from .clocks import *  # noqa: F403
from .counting import *  # noqa: F403
from .crowds import *  # noqa: F403
from .edits import *  # noqa: F403
from .giving import *  # noqa: F403
from .promises import *  # noqa: F403
from .subject import MakeStore as MakeStore
from .together import *  # noqa: F403
from .waiting import *  # noqa: F403

__all__ = [name for name in dir() if name.startswith("test_")]
__all__ += ["MakeStore"]
