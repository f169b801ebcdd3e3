"""Forms of keys and passwords, as data: forms of keys, names of secrets, harmless values.

A form is a key's own, such as a prefix that its maker gave it; where a key has none, only the name
beside it tells. Sources are the makers' own pages, by their titles. Who reads texts by this is
secret_scan.py.
"""

import re
import tomllib
from pathlib import Path
from typing import NamedTuple


class Form(NamedTuple):
    """A kind of key that is known by its form: what it is, words of which one stands in each (they
    are found a hundred times faster), how it looks, and where that is from."""

    what: str
    words: tuple[str, ...]
    pattern: str
    source: str


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
FORMS = tuple(Form(**{**each, "words": tuple(each["words"])}) for each in _TABLE["form"])
"""Keys that are known by their form alone, whatever they are called."""

WRITTEN_OUT = "a password, a key or a token written out"
"""Words for a value that is a secret by its name alone."""
IN_A_COMMAND = "a password in a command"
"""Words for a secret of which the words before it tell."""
# Bounded, and without a part that the gap could match as well: a text of nothing but
# beginnings would else be read anew from each of them.
_COMMAND = r"[^\n|;&]{0,230}?[ \t\"',]"
_WORD = r"(?P<secret>[^\s\"',|;&-][^\s\"',|;&]{3,})"
_NO_USERS = r"mailto|sips?|xmpp|acct|npm|sha256|tel|contacts?"
_PEOPLE = (
    r"owners?|users?|members?|groups?|teams?|serviceaccounts?|principals?|authors?|maintainers?"
    r"|e?mails?|on-?call|system|from|to|cc"
)
"""Words before a colon after which an address of a person or an account follows."""
_BEFORE_USER = r"(?<![\w./:@%+-])"
_USER = r"[\w.+-]{1,64}:(?!//|[$<{*]|%[sv(])"
_ANY = r"[^\s,;\"'<>]"
_IPV4 = r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}"
_IP = rf"(?:{_IPV4}(?![\w.])|\[[0-9A-Fa-f]{{0,4}}:[0-9A-Fa-f:.]{{1,41}}\])"
_NAME = r"(?:[\w-]{1,63}\.){1,8}[A-Za-z]{2,24}(?!\w)"
_MARK = r"0-9!#$%^&*=?|\\"
"""Characters of passwords that names of people lack."""
_NUMBERED = r"[A-Za-z]{1,64}(?:[-_][A-Za-z]{1,64}){0,8}[-_][0-9]{1,16}(?![^\s\"'#;,)])"
"""The name of a document or a host as it may stand after "password:"."""
_SAYS = r"(?i:\bpass(?:word|wd|phrase))[\"']?(?:[ \t]*[:=][ \t]*|[ \t]+(?:is|was):?[ \t]+)[\"']?"
SPOKEN = (
    Form(
        "a user and a password before an address",
        ("@",),
        rf"{_BEFORE_USER}(?!(?i:{_NO_USERS}|{_PEOPLE}):|{_IPV4}:[0-9]{{1,5}}@)(?P<secret>{_USER}"
        rf"(?:{_ANY}{{1,128}}(?=@{_IP})|(?!v?[0-9.]{{1,16}}@)"
        rf"[^\s,;\"'<>{_MARK}]{{0,127}}+[{_MARK}]{_ANY}{{0,127}}(?=@{_NAME})))",
        "RFC 3986, 3.2.1: user information, which people write before a bare address too",
    ),
    Form(
        "a value of the header Authorization",
        ("uthorization", "AUTHORIZATION"),
        r"(?i:\bauthorization)[\"']?[ \t]*[:=][ \t]*[\"']?(?i:basic|bearer|token|digest|negotiate"
        r"|apikey|aws4-hmac-sha256)[ \t]+(?P<secret>[^\s\"']{4,})",
        "RFC 9110, 11.6.2",
    ),
    Form(
        IN_A_COMMAND,
        ("-p", "-P"),
        rf"\b(?:(?:mysql|mariadb){_COMMAND}-p|(?:sshpass{_COMMAND}-p|ipmi{_COMMAND}-P)"
        rf"(?:[\"']?,?[ \t]{{0,16}}[\"']?)){_WORD}",
        "MySQL, mysql(1), --password; sshpass(1), -p; ipmitool(1), -P",
    ),
    Form(
        WRITTEN_OUT,
        ("assword", "asswd", "assphrase", "ASSWORD"),
        rf"{_SAYS}(?!{_NUMBERED})"
        r"(?P<secret>(?=[^\s\"'#;,)]{0,64}[0-9!$%^&*_+])[^\s\"'#;,)]{6,})",
        "comments in site files and manifests",
    ),
)
"""What people say in comments, cells and commands: the part ``secret`` of a match is hidden, unless
it only looks like one (``IN_TEXT``)."""
HIDDEN_ONLY = (
    ("-p", r"(?<![\w-])-p", r"(?=\S{0,64}[0-9])(?=\S{0,64}[A-Za-z])[^\s\"',;|&=:/]{6,}"),
    (
        "@",
        rf"{_BEFORE_USER}(?!(?i:{_NO_USERS}):)",
        rf"{_USER}{_ANY}{{1,128}}(?=@(?!sha(?:256|512):)[\w\[])",
    ),
    ("", _SAYS, _NUMBERED),
)
"""What may be a password, and often is none: hidden from readers, and no problem. Each as a word of
it, what stands before it, and how it looks."""

IN_A_URL = "a user or a password in a URL"
"""Words for a secret that no form of this table has: URLs are read part by part."""
ACCOUNT_SCHEMES = re.compile(r"(?i)(?:git\+|svn\+)?(?:ssh|sftp|git)$")
"""Schemes in which a user without a password is an account's name, as in ssh://git@host."""
IN_PLACE = re.compile(r"[$<{*]|%[sv(]")
"""First characters of a variable, a template or a blank in place of a user or a password."""

KINDS = (
    "api|access|account|private|signing|secret|auth|routing|integration|service|client|encryption"
)
NAMED = re.compile(
    rf"(?:^|[-_./])(?:secrets?|tokens?|credentials?|(?:{KINDS})[-_]?keys?(?:[-_]data)?)(?:$|[-_.])"
    r"|(?:^|[-_./]|pg|db|mysql)(?:pass(?:words?|wd|phrases?)?|pwd)(?:$|[-_.])"
)
"""Names that are given to secrets, in small letters."""
ABOUT = re.compile(
    r"[-_.](?:files?|paths?|dir|folder|audiences?|issuers?|seconds|ttl|expiry|expiration|names?"
    r"|refs?|namespace|kind|type|version|length|bytes|provider|class|size|count|limit|timeout"
    r"|interval|duration|period|age|enabled|disabled|required|mode|method|header|prefix|suffix"
    r"|store|backend|algorithm|format|endpoint|uri|host|port|policy|review|usage|users?|template"
    r"|label|selector|scopes?|key[-_]?id)$|(?:password|passwd|token)[-_]key$"
    r"|(?:^|[-_.])(?:max|min|num)[-_.](?:.*[-_.])?tokens"
)
"""Names that say something of a secret, such as where its file is, and are none. An URL is no such
end: who has that of a web hook needs no more."""
_PARTS = ("pass", "pwd", "secret", "token", "credential")
SOUNDS = re.compile("|".join((*_PARTS, "key")))
"""Parts of names in small letters: each name of a secret has one, most other names have none."""
HINTS = (
    *_PARTS,
    *(f"{kind}{mark}key" for kind in KINDS.split("|") for mark in ("", "-", "_")),
)
"""Parts of names of secrets, in small letters: to search for these is cheap."""

ASSIGNED = re.compile(
    r"(?:^|(?<=[\s\"'{\[,;&?(`]))"
    r"(?:(?P<name>[\w.-]+)(?:\s*=\s*|:[ \t]+|[\"'](?:\s*=\s*|:\s*))"
    r"|(?P<flag>--[\w.-]+)[ \t]+(?!-))"
    r"(?P<quote>[\"']?)(?P<value>[^\s\"',;&|#}\])`]+)",
    re.MULTILINE,
)
"""An assignment in a text: ``name: value``, ``name=value`` or ``--flag value``."""
_NONE = (
    r"(?:true|false|yes|no|on|off|null|none|~|[0-9.]{1,5}(?:ms|[smhd])?|<[^<>]*>|x+|\*+|\.+"
    r"|[\w.-]+\.(?:json|ya?ml|toml|ini|conf|env|txt|pem|crt|key|token|jwt|p12|pfx|jks))"
)
"""A switch, a small number, a blank, a file."""
REFERENCE = re.compile(
    rf"{_NONE}|/.*|(?:\$\([^()]*\)|\$\{{\w+(?::?[?+][^{{}}]*|:?[-=](?:[$/][^{{}}]*)?)?\}}|\$\w++"
    r"|\{\{[^{}]*\}\}|[-_:./@])+",
    re.IGNORECASE | re.DOTALL,
)
"""Values of a variable or a field of such a name that are none: a path, and what is put together
of nothing but variables. A variable is judged itself, where it gets its value."""
IN_TEXT = re.compile(
    rf"{_NONE}|[$%<{{(*\[!/~.@\\=].*|.*(?:[(<\\]|://|[${{]\{{|\$\().*"
    r"|(?-i:[a-z0-9_.-]+(?:/[a-z0-9_.-]+)+)",
    re.IGNORECASE,
)
"""In a text, which may be a program, a call, a tag, a pattern or a place in a store is none too."""
WORD = re.compile(r"[A-Za-z]+(?:[-_.:][A-Za-z]+)*:?")
"""In a sentence, what comes after ``token:`` is a word like any other."""
