"""A value as a message shows it: one short line, without keys."""

from schemas.kubernetes.credentials import masked


def shorten(value: object, limit: int = 60) -> str:
    """``value`` as one printable line of at most ``limit`` characters, for showing to a person;
    what looks like a key is hidden."""
    # Before it is cut: half a key is still half a key.
    text = masked(value if isinstance(value, str) else repr(value))
    # A crafted value must not move the reader's cursor or hide what follows it.
    text = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text[: limit + 1])
    return text if len(text) <= limit else text[: limit - 1] + "…"
