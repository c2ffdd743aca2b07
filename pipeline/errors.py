"""What a person can put right: every such error says what was found and what to do."""


class UsageError(ValueError):
    """What was asked for cannot be done; the message says what to write instead."""
