"""The refusal to go on, of whatever layer, that a person can do something about."""


class UsageError(Exception):
    """What was asked for cannot be done; the message is for a person, and says what to do."""
