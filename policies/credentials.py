"""How credentials look: forms that nothing else has, so that a digest, a public certificate or the
name of a Secret is none.

The forms of tokens are those that their issuers publish, as gitleaks 8.30 has them
(config/gitleaks.toml).
"""

import base64
import binascii
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple


class Form(NamedTuple):
    """How a credential looks: a name for a person, words of which one has to be there (to look for
    them is cheap), and the form itself."""

    name: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]


def _form(name: str, words: str, pattern: str, flags: re.RegexFlag = re.NOFLAG) -> Form:
    return Form(name, tuple(words.split(", ")), re.compile(pattern, flags))


FORMS = (
    _form("a private key", "PRIVATE KEY", r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY"),
    _form("a key of age", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    _form(
        "an access key of AWS",
        "AKIA, ASIA, ABIA, ACCA",
        r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b",
    ),
    _form("an API key of Google", "AIza", r"\bAIza[\w-]{35}(?![\w-])"),
    _form("a token of Google", "ya29.", r"\bya29\.[\w-]{20,}"),
    _form(
        "a token of GitHub",
        "ghp_, gho_, ghu_, ghs_, ghr_, github_pat_",
        r"\b(?:gh[pousr]_[0-9A-Za-z]{36,}|github_pat_\w{22,})",
    ),
    _form("a token of GitLab", "glpat-, gldt-, glrt-", r"\bgl(?:pat|dt|rt)-[\w-]{20,}"),
    _form(
        "a token of Slack",
        "xox, xapp-",
        r"\b(?:xox[abeoprs]-[0-9A-Za-z-]{10,}|xapp-\d-[0-9A-Z]+-\d+-[0-9a-z]+)",
        re.IGNORECASE,
    ),
    _form(
        "a webhook of Slack",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/\w+/\w+/\w{16,}",
    ),
    _form("a token of Pulumi", "pul-", r"\bpul-[0-9a-f]{40}\b"),
    _form("a token of Vault", "hvs., hvb.", r"\bhv[sb]\.[\w-]{24,}"),
    _form("a token of npm", "npm_", r"\bnpm_[0-9A-Za-z]{36}\b"),
    _form("a token of PyPI", "pypi-AgEIcHlwaS5vcmc", r"pypi-AgEIcHlwaS5vcmc[\w-]{50,}"),
    _form("a token of Hugging Face", "hf_", r"\bhf_[A-Za-z]{34}\b"),
    _form("a signed token (JWT)", "eyJ", r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"),
    _form(
        "a bootstrap token of kubeadm",
        ".",
        r"\.(?<=(?<![\w.-])[a-z0-9]{6}\.)(?=[a-z]*[0-9])[a-z0-9]{16}(?![\w.-])",
    ),
    _form(
        "a hash of a password",
        "$",
        r"\$(?<![\w$]\$)(?:1|2[aby]?|5|6|7|y|gy|argon2id?|scrypt)\$[\w./$,=+-]{20,}",
    ),
    _form(
        "a password in an address",
        "://",
        r"://(?<=[A-Za-z0-9+.-]://)[^\s/:@\"'<>]*:(?![@$<{%*])[^\s/@\"'<>]+@",
    ),
)
"""All forms, the certain ones first: one is told of each text. A pattern starts with letters that
have to be there, and looks back from them: texts are long, and few have any."""

_KEYS = "api|access|auth|private|signing"
_WORD = (
    rf"(?:pass(?:word|wd|phrase)?|secret(?:[_-]?key)?|(?:{_KEYS})[_-]?key"
    r"|client[_-]?secret|auth[_-]?token|(?:access|bearer|refresh)?[_-]?token)"
)
_NAMED = re.compile(rf"(?:.*[_.-])?{_WORD}")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_HINTS = (
    *("pass", "secret", "token"),
    *(f"{kind}{mark}key" for kind in _KEYS.split("|") for mark in ("", "-", "_")),
)
"""What a word for a secret has in it, in small letters: to look for these is cheap."""
_ASSIGNED = re.compile(
    rf"(?:^|[\s\"'{{\[,;&?(`])-{{0,2}}(?:[\w-]*[_-])?{_WORD}[\"']?(?:\s*=\s*|:[ \t]+)[\"']?"
    r"(?P<value>[^\s\"',;&|#}\])`]+)",
    re.IGNORECASE | re.MULTILINE,
)
_REFERENCE = re.compile(
    r"[$%<{(*\[!/~.@].*|.*[/\\(){<$*].*|(?:true|false|null|none|yes|no)|[0-9.]{1,7}|x+|\.+",
    re.IGNORECASE,
)
"""Values that are none: a variable, a path, a call, a switch, a small number, a blank."""
_NAME = re.compile(r"[A-Za-z]+(?:[-_.:][A-Za-z]+)*:?")
"""In a text, what comes after ``token:`` may be a word like any other."""
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]{40,}={0,2}\s*")
SHORTEST = 6
"""Characters of a password that is written after ``password=`` in a text."""


@lru_cache(maxsize=65_536)
def credential(text: str) -> str | None:
    """What a text has in it that looks like a credential, in words; None where nothing does."""
    found = _formed(text) or _assigned(text)
    if found is None and _BASE64.fullmatch(text):
        inner = _decoded(text)
        found = _formed(inner) if inner else None
    return found


def suspect(texts: Iterable[str]) -> bool:
    """Whether any of some texts may have a credential in it; of false alarms there are few. All at
    once, as to ask of each of thousands takes ten times as long."""
    every = list(texts)
    # No form goes over the end of a line.
    joined = "\n".join(every)
    if _formed(joined) or _assigned(joined):
        return True
    return any(_BASE64.fullmatch(each) and credential(each) for each in every)


@lru_cache(maxsize=4096)
def named_secret(name: str) -> bool:
    """Whether the name of a field or a variable tells of a secret: ``DB_PASSWORD`` and
    ``clientSecret`` do, ``secretName`` and ``tokens`` do not."""
    return _NAMED.fullmatch(_HUMP.sub("_", name).lower()) is not None


def is_literal(value: str) -> bool:
    """Whether a value stands for itself, and is no variable, path, switch or blank."""
    return bool(value.strip()) and _REFERENCE.fullmatch(value.strip()) is None


def _formed(text: str) -> str | None:
    for form in FORMS:
        for word in form.words:
            if word in text and form.pattern.search(text):
                return form.name
    return None


def _assigned(text: str) -> str | None:
    for start, end in _hinted(text):
        for match in _ASSIGNED.finditer(text, start, end):
            value = match["value"]
            if len(value) >= SHORTEST and is_literal(value) and not _NAME.fullmatch(value):
                return "a password, a key or a token written out"
    return None


def _hinted(text: str) -> set[tuple[int, int]]:
    """Where a text has a word for a secret: the line, and the next one for its value."""
    small = text.lower()
    if len(small) != len(text):
        return {(0, len(text))}  # a letter that is two in small letters: no place is the same
    found = set()
    for hint in _HINTS:
        at = small.find(hint)
        while at >= 0:
            line_end = _end(text, at)
            end = _end(text, min(line_end + 1, len(text)))
            found.add((text.rfind("\n", 0, at) + 1, end))
            at = small.find(hint, line_end)
    return found


def _end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _decoded(text: str) -> str | None:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return None  # no base64, or no text inside: a key is text
