"""Trips that lead to more trips, written once for threads and for tasks.

A generator yields what it asks of which server and is sent the reply, or thrown the error; `run`
and `arun` make the trips.
"""

import time
from collections.abc import Generator
from typing import Any, NamedTuple, TypeAlias, TypeVar

from redis import exceptions

from .base import Unavailable
from .faults import CLUSTER, FIXES, told
from .node import Node


class Ask(NamedTuple):
    """A command for a server, which must have ended by `until`; see `Wire.call`."""

    node: Node
    command: tuple[Any, ...]
    until: float
    asking: bool


Result = TypeVar("Result")
Steps: TypeAlias = Generator[Ask, Any, Result]


def run(steps: Steps[Result]) -> Result:
    """Make the trips."""
    try:
        asked = next(steps)
        while True:
            try:
                reply = asked.node.wire.call(*asked.command, until=asked.until, asking=asked.asking)
            except Exception as error:
                asked = steps.throw(error)
            else:
                asked = steps.send(reply)
    except StopIteration as end:
        result: Result = end.value
        return result


async def arun(steps: Steps[Result]) -> Result:
    """See `run`."""
    try:
        asked = next(steps)
        while True:
            wire = asked.node.here()
            try:
                reply = await wire.call(*asked.command, until=asked.until, asking=asked.asking)
            except Exception as error:
                asked = steps.throw(error)
            else:
                asked = steps.send(reply)
    except StopIteration as end:
        result: Result = end.value
        return result


def ask(node: Node, *command: Any, until: float, asking: bool = False) -> Steps[Any]:
    """The reply of a server, whose breaker learns what became of the question.

    Raises `Unavailable`, or what says that nothing was done: an error of `CLUSTER`, or
    `NoScriptError`.
    """
    if time.monotonic() >= until:
        raise Unavailable(FIXES["slow"], "slow")
    if not node.breaker.allows():
        raise Unavailable(FIXES["breaker"], "breaker")
    try:
        reply = yield Ask(node, command, until, asking)
    except (*CLUSTER, exceptions.NoScriptError):
        node.breaker.answered()
        raise
    except Exception as error:
        # Whatever is on that port may make redis-py raise anything at all.
        raise told(error, node.breaker) from error
    node.breaker.answered()
    return reply
