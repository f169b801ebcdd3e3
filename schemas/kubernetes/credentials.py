"""What looks like a key or a password: one table of forms, and the names that secrets are given.

Everything that reads a file of a site, or shows a text to a person, asks here. A form is a key's
own, such as a prefix that its maker gave it; where a key has none, only the name beside it tells.
What is found is never shown. Sources are the makers' own pages, by their titles; several of the
prefixes stand in gitleaks 8.30, config/gitleaks.toml as well.
"""

import functools
import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

HIDDEN = "(hidden)"
"""What stands in place of a key wherever a text is shown."""


class Form(NamedTuple):
    """A kind of key that is known by its form: what it is, words of which one stands in each (they
    are found a hundred times faster), how it looks, and where that is from."""

    what: str
    words: tuple[str, ...]
    pattern: str
    source: str


FORMS = (
    Form(
        "a private key",
        ("PRIVATE KEY", "PuTTY-User-Key-File-"),
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----|\Z)"
        r"|PuTTY-User-Key-File-[0-9](?s:.*)|\bPRIVATE KEY\b",
        "RFC 7468; OpenSSH PROTOCOL.key; PuTTY, appendix C: PPK file format",
    ),
    Form(
        "a private key in base64",
        ("LS0tLS1CRUdJTi",),
        r"\bLS0tLS1CRUdJTi(?:BQUklWQVRF|BSU0EgUFJJ|BFQyBQUklW|BFTkNSWVBU|BPUEVOU1NI|BEU0EgUFJJ)"
        r"[A-Za-z0-9+/=]*",
        "RFC 7468 and RFC 4648: base64 of the lines that private keys start with",
    ),
    Form(
        "a private key of age",
        ("AGE-SECRET-KEY-", "age-secret-key-"),
        r"(?i:\bage-secret-key-(?:pq-)?1[0-9a-z]{20,})",
        "age, C2SP age.md: X25519 identities",
    ),
    Form(
        "a key of AWS",
        ("AKIA", "ASIA", "ABIA", "ACCA"),
        r"\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b",
        "AWS IAM user guide, IAM identifiers: unique ID prefixes",
    ),
    Form(
        "a key of Google Cloud",
        ("AIza", "GOCSPX-", "ya29."),
        r"\bAIza[\w-]{35}|\bGOCSPX-[\w-]{20,}|\bya29\.[\w-]{20,}",
        "Google Cloud, Authenticate by using API keys; OAuth 2.0 clients and access tokens",
    ),
    Form(
        "a key of Azure",
        ("AccountKey=", "sig=", "Q~"),
        r"\bAccountKey=[A-Za-z0-9+/]{40,}={0,2}|[?&]sig=[A-Za-z0-9%+/]{40,}|\b[\w~.-]{3}[0-9]Q~[\w~.-]{31,34}",
        "Azure Storage, connection strings and SAS; Entra ID, client secrets",
    ),
    Form(
        "a token of GitHub",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"\b(?:gh[pousr]_|github_pat_)\w{20,}",
        "GitHub, About authentication to GitHub: token formats",
    ),
    Form(
        "a token of GitLab",
        tuple(
            f"gl{each}-"
            for each in ("pat", "ptt", "rt", "dt", "cbt", "ft", "oas", "soat", "imt", "agent")
        ),
        r"\bgl(?:pat|ptt|rt|dt|cbt|ft|oas|soat|imt|agent)-[\w-]{20,}",
        "GitLab, Token overview: token prefixes",
    ),
    Form(
        "a web hook or token of Slack",
        ("hooks.slack", "xox", "xapp-"),
        r"\bhooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/\S+|\bxox[a-z]-[\w-]{10,}"
        r"|\bxapp-[0-9]-[\w-]{10,}",
        "Slack, Sending messages using incoming webhooks; Token types",
    ),
    Form(
        "a web hook of a chat",
        ("/api/webhooks/", "/webhookb2/", ":AA"),
        r"\bdiscord(?:app)?\.com/api/webhooks/\S+|\bwebhook\.office\.com/webhookb2/\S+"
        r"|\b[0-9]{8,10}:AA[\w-]{33}\b",
        "Discord, Webhook resource; Teams, Create incoming webhooks; Telegram, Bot API",
    ),
    Form(
        "a key of PagerDuty",
        ("pagerduty.com/integration/",),
        r"\bevents(?:\.eu)?\.pagerduty\.com/integration/\w+\S*",
        "PagerDuty, Events API overview: integration URLs",
    ),
    Form(
        "a token of Hugging Face",
        ("hf_",),
        r"\bhf_[A-Za-z0-9]{30,}",
        "Hugging Face, User access tokens",
    ),
    Form(
        "a JSON Web Token",
        (".eyJ",),
        r"(?<![\w-])eyJ[\w-]{6,}\.eyJ[\w-]{6,}\.[\w-]{6,}",
        "RFC 7519; tokens of Kubernetes' ServiceAccounts are such",
    ),
    Form(
        "a token of a package registry",
        ("npm_", "pypi-", "dckr_pat_", "nvapi-"),
        r"\bnpm_[A-Za-z0-9]{30,}|\bpypi-AgE[\w-]{40,}|\bdckr_pat_[\w-]{20,}|\bnvapi-[\w-]{40,}",
        "npm and Docker Hub, Access tokens; PyPI, API tokens; NVIDIA NGC, API keys",
    ),
    Form(
        "a token of Vault",
        ("hvs.", "hvb.", "hvr."),
        r"\bhv[sbr]\.[\w-]{24,}",
        "Vault, Tokens: token prefixes",
    ),
    Form("a token of Pulumi", ("pul-",), r"\bpul-[0-9a-f]{40}\b", "Pulumi Cloud, Access tokens"),
    Form(
        "a key of a hosted model",
        ("sk-",),
        r"\bsk-(?:(?:proj|ant|svcacct|admin)-[\w-]{20,}|[A-Za-z0-9]{40,})",
        "OpenAI and Anthropic, API keys",
    ),
    Form(
        "a token of Grafana",
        ("glsa_", "glc_"),
        r"\bglsa_\w{32,}|\bglc_[A-Za-z0-9+/=]{32,}",
        "Grafana, Service accounts; Grafana Cloud, Access policies",
    ),
    Form(
        "the hash of a password",
        ("$",),
        r"\$(?:1|2[aby]|5|6|7|y|argon2i?d?)\$[./A-Za-z0-9=,$+]{20,}",
        "crypt(5); what cannot be read back can still be guessed",
    ),
    Form(
        "a URL with a token in its query",
        ("?", "&"),
        r"(?i:[?&](?:access_token|api_?key|auth|key|password|secret|sig(?:nature)?|token)"
        r"=(?![$<{*]|%[sv(])[^&\s\"',;)\]]{8,})",
        "RFC 6750, 2.3: tokens in queries end up in logs",
    ),
    Form(
        "a bootstrap token of kubeadm",
        (".",),
        r"\.(?<=(?<![\w.-])[a-z0-9]{6}\.)(?=[a-z]*[0-9])[a-z0-9]{16}(?![\w.-])",
        "Kubernetes, Authenticating with Bootstrap Tokens: token format",
    ),
)
"""Keys that are known by their form alone, whatever they are called."""

_NO_PASSWORD = re.compile(r"(?i)(?:git\+|svn\+)?(?:ssh|sftp|git)$")
"""Schemes in which a user without a password is an account's name, as in ssh://git@host."""
IN_A_URL = "a user or a password in a URL"
_SCHEME = re.compile(r"[A-Za-z][\w+.-]*\Z")
_URL_ENDS = re.compile(r"[\s,;)\]\"]")
_IN_PLACE = re.compile(r"[$<{*]|%[sv(]")
"""How a variable, a template's mark or a blank begins that stands for a user or a password."""

_NAMES = re.compile(
    r"(?:^|[-_./])(?:secrets?|tokens?|credentials?|(?:api|access|account|private|signing|secret"
    r"|auth|routing|integration|service|client|encryption)[-_]?keys?(?:[-_]data)?|apikeys?)"
    r"(?:$|[-_.=])"
    r"|(?:^|[-_./]|pg|db|mysql)(?:passwords?|passwd|passphrases?|pass|pwd)(?:$|[-_.=])"
)
_ABOUT_ONE = re.compile(
    r"[-_.](?:files?|paths?|dir|folder|audiences?|issuers?|seconds|ttl|expiry|expiration|names?"
    r"|refs?|namespace|kind|type|version|length|bytes|provider|class|size|count|limit|timeout"
    r"|interval|duration|period|age|enabled|disabled|required|mode|method|header|prefix|suffix"
    r"|store|backend|algorithm|format|endpoint|uri|host|port|policy|review|usage|users?|template"
    r"|label|selector|scopes?|key[-_]?id)$|(?:password|passwd|token)[-_]key$"
    r"|(?:^|[-_.])(?:max|min|num)[-_.](?:.*[-_.])?tokens"
)
"""Names that say something of a secret, such as where its file is, and are none. An URL is no such
end: who has that of a web hook needs no more."""
_HARMLESS = re.compile(
    # A switch, a small number, a blank, a variable, a path, a file; a comparison of CEL.
    r"(?i)true|false|yes|no|on|off|null|none|~|[0-9.]{1,5}(?:ms|[smhd])?|<[^<>]*>|x+|\*+|\.+"
    r"|\$[({].*|\$(?:[a-z_]\w*(?:[/:.].*)?)?|/.*|=.*"
    r"|[\w.-]+\.(?:json|ya?ml|toml|ini|conf|env|txt|pem|crt|key|token|jwt|p12|pfx|jks)"
)
"""Values that no secret has. A variable is judged itself, where it gets its value."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
ROUTING_KEY = re.compile(r"(?=.*[0-9])[0-9A-Za-z]{32,}")
"""What is no name of a Secret or of a key in it but a secret: PagerDuty's routing keys are 32
letters and digits (PagerDuty, Events API v2)."""


class Found(NamedTuple):
    """A key in a text: where it starts and ends, and what it is."""

    start: int
    end: int
    what: str


def keys_in(text: str) -> list[Found]:
    """The keys in a text that are known by their form, in its order; they may overlap."""
    found = [
        Found(*match.span(), form.what)
        for form in FORMS
        if any(word in text for word in form.words)
        for match in _compiled(form.pattern).finditer(text)
    ]
    if "@" in text:
        found += _users(text)
    return sorted(found, key=lambda each: each.start)


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Only where a word of it stood somewhere: most runs need none."""
    return re.compile(pattern)


def kind_of(text: str) -> str:
    """What kind of key stands in a text; empty where none does."""
    return next((each.what for each in keys_in(text)), "")


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


def is_secret(name: str, value: str) -> bool:
    """Whether a value is a secret by the name that it is given."""
    bare = value.strip(" \t\"'")
    if not bare or _HARMLESS.fullmatch(bare):
        return False
    return named_as_secret(name)


def named_as_secret(name: str) -> bool:
    """Whether a name is one that is given to secrets: ``db_password``, ``apiKey``, ``--token``."""
    plain = _CAMEL.sub("_", name).lower()
    return bool(_NAMES.search(plain)) and not _ABOUT_ONE.search(plain)


def secret_words(words: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """What stands in a command behind a flag that is called as a secret: the index of the word that
    holds it, that of its flag, and itself; as ``--flag=value``, or as the word after a flag."""
    for index, (word, following) in enumerate(zip_longest(words, words[1:], fillvalue="")):
        flag, equals, given = word.partition("=")
        at = index
        if not equals and word.startswith("-") and not following.startswith("-"):
            at, given = index + 1, following
        if given and named_as_secret(flag):
            yield at, index, given


def _users(text: str) -> Iterator[Found]:
    """Where ``user:password@`` or ``user@`` stands in URLs of a text. Each part of the text is read
    once: a URL ends where the next one starts."""
    at = text.find("://")
    while at >= 0:
        scheme, start = text[max(0, at - 32) : at], at + 3
        at = text.find("://", start)
        last = len(text) if at < 0 else at
        end = _URL_ENDS.search(text, start, last)
        user, found, host = text[start : end.start() if end else last].rpartition("@")
        if found and not host.startswith("sha256:") and _of_a_user(user, scheme):
            yield Found(start, start + len(user), IN_A_URL)


def _of_a_user(user: str, before: str) -> bool:
    scheme = _SCHEME.search(before)
    host, slash, _ = user.partition("/")
    # A path may hold an "@" behind host:port; a password may hold a "/".
    behind = slash and not (":" in host and not host.rpartition(":")[2].isdecimal())
    if scheme is None or behind:
        return False
    name, password, given = user.partition(":")
    if not password and _NO_PASSWORD.fullmatch(scheme[0]):
        return False
    return not _IN_PLACE.match(given if password else name)
