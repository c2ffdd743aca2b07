"""Errors that the user can correct. Every message says what was found and what to do."""


class UsageError(ValueError):
    """A request that cannot be carried out; the message says what to write instead."""
