"""Shows texts to a person without the keys in them.

What a key looks like is in schemas/kubernetes/secret_forms.py.
"""

from schemas.kubernetes.secret_scan import keys_in, secret_words

HIDDEN = "(hidden)"
"""What stands in place of a key wherever a text is shown."""


def masked(text: str) -> str:
    """A text as it may be shown: what looks like a key is hidden, and the rest is as it was."""
    shown, at = [], 0
    for start, end, _ in keys_in(text):
        if end > at:
            shown += [text[at:start] if start > at else "", HIDDEN if start >= at else ""]
            at = end
    return "".join([*shown, text[at:]]) if shown else text


def masked_words(text: str) -> str:
    """A command line as it may be shown: also what follows a flag that is called as a secret."""
    words = masked(text).split(" ")
    for index, hidden, _ in secret_words(words):
        flag, equals, _ = words[index].partition("=")
        words[index] = f"{flag}={HIDDEN}" if equals and hidden == index else HIDDEN
    return " ".join(words)
