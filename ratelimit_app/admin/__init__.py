"""Policies in the admin: seen in one list, edited without losing anybody's edit, and reset."""

from .policy import PolicyAdmin

__all__ = ["PolicyAdmin"]
