"""The public suite, run by every store of ours: the only list of what a store must do."""

from ratelimit_app.conformance import *  # noqa: F403
