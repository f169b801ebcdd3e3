"""Patterns of CRDs are written for Go; here they become ones that every regexp engine reads."""

import re

_TOKEN = re.compile(r"\(\?i\)|\\.|\[(?:\\.|[^\]\\])*\]|.", re.DOTALL)


def portable(pattern: str) -> str:
    """The pattern without Go's ``(?i)``, which JSON Schema's (ECMA's) lack: from there to the end
    of its group, letters in both cases."""
    if "(?i)" not in pattern:
        return pattern
    result: list[str] = []
    folded = [False]  # of each open group
    for token in _TOKEN.findall(pattern):
        if token == "(?i)":
            folded[-1] = True
            continue
        if token == "(":
            folded.append(folded[-1])
        elif token == ")":
            folded.pop()
        result.append(_both_cases(token) if folded[-1] else token)
    return "".join(result)


def _both_cases(token: str) -> str:
    if token.startswith("[") and "\\" not in token:
        return f"{token[:-1]}{token[1:-1].removeprefix('^').swapcase()}]"
    return f"[{token}{token.swapcase()}]" if token.isalpha() else token
