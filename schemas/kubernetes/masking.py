"""Texts as a message may show them: short, without keys (schemas/kubernetes/secret_forms.py)."""

import re

from schemas.kubernetes.secret_forms import HIDDEN_ONLY
from schemas.kubernetes.secret_scan import keys_in, secret_words

HIDDEN = "(hidden)"
"""The text shown in place of a key."""


def mask(text: str) -> str:
    """A text that is safe to show: what looks like a key is hidden, the rest is unchanged."""
    shown, at = [], 0
    for start, end, _ in keys_in(text):
        if end > at:
            shown += [text[at:start] if start > at else "", HIDDEN if start >= at else ""]
            at = end
    text = "".join([*shown, text[at:]]) if shown else text
    for word, before, what in HIDDEN_ONLY:
        if word in text:
            text = re.sub(f"({before}){what}", rf"\1{HIDDEN}", text)
    return text


def mask_command(text: str) -> str:
    """A command line that is safe to show: values of flags with a secret's name are hidden too."""
    words = mask(text).split(" ")
    for index, hidden, _ in secret_words(words):
        flag, equals, _ = words[index].partition("=")
        words[index] = f"{flag}={HIDDEN}" if equals and hidden == index else HIDDEN
    return " ".join(words)


def shorten(value: object, limit: int = 60) -> str:
    """``value`` as one printable line of at most ``limit`` characters, without keys."""
    # Before it is cut: half a key is still half a key.
    text = mask(value if isinstance(value, str) else repr(value))
    # A crafted value must not move the reader's cursor or hide what follows it.
    text = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text[: limit + 1])
    return text if len(text) <= limit else text[: limit - 1] + "…"
