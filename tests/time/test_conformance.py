"""The public suite on a Redis whose own clock steps: the real script, TIME and expiry.

The rest of the suite is about other things than time; tests/stores/ runs all of it.
"""

import pytest

from ratelimit_app.conformance.clocks import *  # noqa: F403
from ratelimit_app.conformance.promises import (  # noqa: F401
    test_like_a_fresh_bucket_at_reset_after_and_not_a_millisecond_before,
    test_no_step_of_the_clock_breaks_a_bucket,
)
from ratelimit_app.conformance.waiting import *  # noqa: F403

pytestmark = pytest.mark.system
