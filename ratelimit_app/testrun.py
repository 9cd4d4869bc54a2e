"""Whether tests are run in this process, and inside which transactions of theirs."""

import sys

from django.db import connections

from . import sources


def is_on() -> bool:
    """Whether a test runner has set up its environment in this process."""
    utils = sys.modules.get("django.test.utils")
    return utils is not None and "saved_data" in utils._TestState.__dict__


def transactions() -> object:
    """The transactions that the running `TestCase` holds open on the policies' database."""
    return [
        block
        for block in connections[sources.alias()].atomic_blocks
        if getattr(block, "_from_testcase", False)
    ]
