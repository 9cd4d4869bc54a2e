"""What the suite of the doors has is of use here too."""

from tests.doors.conftest import clock, in_memory, of

__all__ = ["clock", "in_memory", "of"]
