"""How credentials look: forms that nothing else has, so that a digest, a public certificate or the
name of a Secret is none.

The forms of tokens are those that their issuers publish, as gitleaks 8.30 has them
(config/gitleaks.toml).
"""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import Any, NamedTuple


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
    _form("a private key", "PuTTY-User-Key-File-", r"PuTTY-User-Key-File-[0-9]"),
    _form(
        "a private key in base64",
        "LS0tLS1CRUdJTi",
        r"LS0tLS1CRUdJTi(?:BQUklWQVRF|BSU0EgUFJJ|BFQyBQUklW|BFTkNSWVBU|BPUEVOU1NI|BEU0EgUFJJ)",
    ),
    _form("a private key of age", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{20,}"),
    _form("a key of AWS", "AKIA, ASIA, ABIA, ACCA", r"\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b"),
    _form(
        "a key of Google Cloud",
        "AIza, GOCSPX-, ya29.",
        r"\bAIza[\w-]{35}(?![\w-])|\bGOCSPX-[\w-]{20,}|\bya29\.[\w-]{20,}",
    ),
    _form(
        "a key of Azure",
        "AccountKey=, sig=, Q~",
        r"\bAccountKey=[\w+/]{40,}|[?&]sig=[\w%+/]{40,}|[\w~.-]{3}[0-9]Q~[\w~.-]{31,34}",
    ),
    _form(
        "a token of GitHub",
        "ghp_, gho_, ghu_, ghs_, ghr_, github_pat_",
        r"\b(?:gh[pousr]_|github_pat_)\w{20,}",
    ),
    _form(
        "a token of GitLab",
        "glpat-, glptt-, glrt-, gldt-, glcbt-, glft-, gloas-, glsoat-, glimt-, glagent-",
        r"\bgl(?:pat|ptt|rt|dt|cbt|ft|oas|soat|imt|agent)-[\w-]{20,}",
    ),
    _form(
        "a web hook or token of Slack",
        "hooks.slack, xox, xapp-",
        r"\bhooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/\w+/\w"
        r"|\bxox[a-z]-[\w-]{10,}|\bxapp-[0-9]-[\w-]{10,}",
    ),
    _form(
        "a web hook of a chat",
        "/api/webhooks/, /webhookb2/, :AA",
        r"\bdiscord(?:app)?\.com/api/webhooks/\w|\bwebhook\.office\.com/webhookb2/\w"
        r"|\b[0-9]{8,10}:AA[\w-]{33}\b",
    ),
    _form(
        "a key of PagerDuty",
        "pagerduty.com/integration/",
        r"\bevents(?:\.eu)?\.pagerduty\.com/integration/\w",
    ),
    _form("a token of Hugging Face", "hf_", r"\bhf_[A-Za-z0-9]{30,}"),
    # A run of letters has one start, or each "eyJ" in it would be read to its end.
    _form("a JSON Web Token", ".eyJ", r"(?<![\w-])eyJ[\w-]{6,}\.eyJ[\w-]{6,}\.[\w-]{6,}"),
    _form(
        "a token of a package registry",
        "npm_, pypi-, dckr_pat_, nvapi-",
        r"\bnpm_[A-Za-z0-9]{30,}|\bpypi-AgE[\w-]{40,}|\bdckr_pat_[\w-]{20,}|\bnvapi-[\w-]{40,}",
    ),
    _form("a token of Vault", "hvs., hvb., hvr.", r"\bhv[sbr]\.[\w-]{24,}"),
    _form("a token of Pulumi", "pul-", r"\bpul-[0-9a-f]{40}\b"),
    _form(
        "a key of a hosted model",
        "sk-",
        r"\bsk-(?:(?:proj|ant|svcacct|admin)-[\w-]{20,}|[A-Za-z0-9]{40,})",
    ),
    _form("a token of Grafana", "glsa_, glc_", r"\bglsa_\w{32,}|\bglc_[A-Za-z0-9+/=]{32,}"),
    _form(
        "the hash of a password",
        "$",
        r"\$(?<![\w$]\$)(?:1|2[aby]?|5|6|7|y|gy|argon2i?d?|scrypt)\$[\w./$,=+-]{20,}",
    ),
    _form(
        "a URL with a token in its query",
        "?, &",
        r"[?&](?:access_token|api_?key|auth|key|password|secret|sig(?:nature)?|token)"
        r"=(?![$<{(\[*\\.]|%[sv(])[^&\s\"',;)\]]{8,}",
        re.IGNORECASE,
    ),
    _form(
        "a bootstrap token of kubeadm",
        ".",
        r"\.(?<=(?<![\w.-])[a-z0-9]{6}\.)(?=[a-z]*[0-9])[a-z0-9]{16}(?![\w.-])",
    ),
    # A name alone is a token in all schemes but those in which it is an account.
    _form(
        "a user or a password in a URL",
        "://",
        r"://(?<=[A-Za-z0-9+.-]://)(?:[^\s/:@\"'<>,;]*:(?!%[sv(]|[@$<{*]|[0-9]*/)(?:(?!://)"
        r"[^\s@\"'<>,;)\]])+@|(?<!ssh://)(?<!sftp://)(?<!git://)(?!%[sv(]|[$<{*])"
        r"[^\s/:@\"'<>,;)\]]+@(?!sha256:))",
    ),
)
"""All forms, the certain ones first: one is told of each text. A pattern starts with letters that
have to be there, and looks back from them: texts are long, and few have any."""

_KINDS = (
    "api|access|account|private|signing|secret|auth|routing|integration|service|client|encryption"
)
_NAMED = re.compile(
    rf"(?:^|[-_./])(?:secrets?|tokens?|credentials?|(?:{_KINDS})[-_]?keys?(?:[-_]data)?)(?:$|[-_.])"
    r"|(?:^|[-_./]|pg|db|mysql)(?:pass(?:words?|wd|phrases?)?|pwd)(?:$|[-_.])"
)
_ABOUT = re.compile(
    r"[-_.](?:files?|paths?|dir|folder|audiences?|issuers?|seconds|ttl|expiry|expiration|names?"
    r"|refs?|namespace|kind|type|version|length|bytes|provider|class|size|count|limit|timeout"
    r"|interval|duration|period|age|enabled|disabled|required|mode|method|header|prefix|suffix"
    r"|store|backend|algorithm|format|endpoint|uri|host|port|policy|review|usage|users?|template"
    r"|label|selector|scopes?|key[-_]?id)$|(?:password|passwd|token)[-_]key$"
    r"|(?:^|[-_.])(?:max|min|num)[-_.](?:.*[-_.])?tokens"
)
"""Names that say something of a secret, such as where it is kept."""
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_HINTS = (
    *("pass", "pwd", "secret", "token", "credential"),
    *(f"{kind}{mark}key" for kind in _KINDS.split("|") for mark in ("", "-", "_")),
)
"""What a name of a secret has in it, in small letters: to look for these is cheap."""
_ASSIGNED = re.compile(
    r"(?:^|(?<=[\s\"'{\[,;&?(`]))"
    r"(?:(?P<name>[\w.-]+)(?:\s*=\s*|:[ \t]+|[\"'](?:\s*=\s*|:\s*))"
    r"|(?P<flag>--[\w.-]+)[ \t]+(?!-))"
    r"(?P<quote>[\"']?)(?P<value>[^\s\"',;&|#}\])`]+)",
    re.MULTILINE,
)
_NONE = (
    r"(?:true|false|yes|no|on|off|null|none|~|[0-9.]{1,5}(?:ms|[smhd])?|<[^<>]*>|x+|\*+|\.+"
    r"|[\w.-]+\.(?:json|ya?ml|toml|ini|conf|env|txt|pem|crt|key|token|jwt|p12|pfx|jks))"
)
"""A switch, a small number, a blank, a file."""
_REFERENCE = re.compile(
    rf"{_NONE}|/.*|(?:\$\([^()]*\)|\$\{{\w+(?::?[?+][^{{}}]*|:?[-=](?:[$/][^{{}}]*)?)?\}}|\$\w++"
    r"|\{\{[^{}]*\}\}|[-_:./@])+",
    re.IGNORECASE | re.DOTALL,
)
"""Values of a variable or a field of such a name that are none: a path, and what is put together
of nothing but variables."""
_IN_TEXT = re.compile(
    rf"{_NONE}|[$%<{{(*\[!/~.@\\].*|.*(?:[(<\\]|://|[${{]\{{|\$\().*"
    r"|(?-i:[a-z0-9_.-]+(?:/[a-z0-9_.-]+)+)",
    re.IGNORECASE,
)
"""In a text, which may be a program, a call, a tag, a pattern or a place in a store is none too."""
_NAME = re.compile(r"[A-Za-z]+(?:[-_.:][A-Za-z]+)*:?")
"""In a sentence, what comes after ``token:`` may be a word like any other."""
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]{40,}+={0,2}\s*")
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
    ``clientSecret`` do, ``secretName`` and ``MAX_TOKENS`` do not."""
    plain = _HUMP.sub("_", name).lower()
    return _NAMED.search(plain) is not None and _ABOUT.search(plain) is None


def is_literal(value: str) -> bool:
    """Whether a value of such a name stands for itself, and is no reference, switch or blank."""
    bare = value.strip(" \t\n\"'")
    return bool(bare) and _REFERENCE.fullmatch(bare) is None


def in_arguments(words: Sequence[Any]) -> Iterator[tuple[int, str]]:
    """The arguments of a command that are secrets by their flag, each as its place with that:
    ``--flag=value``, or the argument after a flag."""
    for index, (word, following) in enumerate(zip_longest(words, words[1:])):
        if not (isinstance(word, str) and word.startswith("-")):
            continue
        flag, given, value = word.partition("=")
        if not given and isinstance(following, str) and not following.startswith("-"):
            value = following
        if named_secret(flag) and is_literal(value):
            yield (index if given else index + 1), flag


def _formed(text: str) -> str | None:
    for form in FORMS:
        for word in form.words:
            if word in text and form.pattern.search(text):
                return form.name
    return None


def _assigned(text: str) -> str | None:
    for start, end in _hinted(text):
        for match in _ASSIGNED.finditer(text, start, end):
            name, value = match["name"] or match["flag"], match["value"]
            if not named_secret(name) or len(value) < SHORTEST or _IN_TEXT.fullmatch(value):
                continue
            # What is quoted, or set by --flag=, is no word of a sentence.
            said = not match["quote"] and not (match["name"] or "").startswith("--")
            if not (said and _NAME.fullmatch(value)):
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
