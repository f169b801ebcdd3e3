"""Rules on the programs that a site brings: no secrets; for those of accelerators no mount twice,
and a resource that kubelets take."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from schemas.accelerators import Program
from schemas.codes import Code
from schemas.rules.extended import kept_by_kubernetes
from schemas.rules.finding import Finding, Path
from schemas.site import Site

_SECRET = re.compile(
    r"(?i)((^|[-_.])(secrets?|tokens?|credentials?|(api|access|private|signing)[-_]?keys?)"
    r"|(^|[-_.]|pg|db|mysql)(passwords?|passwd|passphrase|pass))($|[-_.=])"
)
_ABOUT_ONE = re.compile(
    r"(?i)[-_.](files?|paths?|dir|folder|audiences?|issuers?|seconds|ttl|expiry|expiration|names?)$"
)
"""Ends of names that say something of a secret, such as where its file is, and are none. An URL is
no such end: who has that of a web hook needs no more."""
_KEY = re.compile(
    r"(?P<aws>\b(AKIA|ASIA)[0-9A-Z]{16}\b)|(?P<github>\b(gh[pousr]_|github_pat_)\w{20,})"
    r"|(?P<gitlab>\bglpat-[\w-]{20,})|(?P<slack>\bxox[a-z]-[\w-]{10,})"
    r"|(?P<hugging_face>\bhf_[A-Za-z0-9]{30,})"
    r"|(?P<jwt>\beyJ[\w-]{6,}\.eyJ[\w-]{6,}\.[\w-]{6,})"
    r"|(?P<pem>-----BEGIN (?!CERTIFICATE|PUBLIC))"
)
_KINDS = {
    "aws": "a key of AWS",
    "github": "a token of GitHub",
    "gitlab": "a token of GitLab",
    "slack": "a token of Slack",
    "hugging_face": "a token of Hugging Face",
    "jwt": "a JSON Web Token",
    "pem": "a private key",
}
"""What a value is that has one of the forms above, whatever its name."""
_HARMLESS = re.compile(r"(?i)true|false|yes|no|on|off|\$\([A-Za-z_][A-Za-z0-9_]*\)")
"""Values that no secret has: a switch, and another variable, which is judged itself."""
_FIX = "let the program read a file of the host, which the OS image or an operator's tool fills"
_SERVER_FIX = "remove it: the server asks the cluster whether tokens are good, with its own account"
_MOUNTED = ("/var/lib/kubelet/device-plugins", "/var/lib/kubelet/pod-resources")
"""What every device plugin or exporter gets (components/accelerators/plugins.py)."""


def program_settings(site: Site) -> Iterator[Finding]:
    """What programs are given is no secret, and every path is mounted once."""
    settings = site.file.accelerators
    for name, model in settings.models.items() if settings else ():
        place: Path = ("accelerators", "models", name)
        resource = model.plugin.resource
        if kept_by_kubernetes(resource.partition("/")[0]):
            said = f"kubelets take no resource {resource} from a plugin"
            fix = "write the resource that the plugin advertises, below the maker's domain"
            yield Finding(Code.RESERVED_NAME, (*place, "plugin", "resource"), said, fix)
        yield from _of_program((*place, "plugin"), model.plugin)
        if model.exporter is not None:
            yield from _of_program((*place, "exporter"), model.exporter)
        if model.health is not None:
            yield from _secrets((*place, "health"), {}, {"command": model.health.command})


def server_settings(site: Site) -> Iterator[Finding]:
    """What the server of the object cache is given is no secret."""
    server = site.file.cache.server if site.file.cache else None
    if server is not None:
        words = {"command": server.command, "args": server.args}
        yield from _secrets(("cache", "server"), server.env, words, _SERVER_FIX)


def _of_program(place: Path, program: Program) -> Iterator[Finding]:
    yield from _secrets(place, program.env, {"args": program.args})
    for index, path in enumerate(program.host_paths):
        if path in program.host_paths[:index] or path in _MOUNTED:
            said = f"{path} is mounted already"
            yield Finding(Code.DUPLICATE_NAME, (*place, "host_paths", index), said, "remove it")


def _secrets(
    place: Path, env: Mapping[str, str], words: Mapping[str, Sequence[str]], fix: str = _FIX
) -> Iterator[Finding]:
    """What looks like a secret: among variables, and among the words of a command by field."""
    for name, value in env.items():
        kind = _kind_of_key(value)
        if kind or _is_secret(name, value):
            said = _said(
                f"the value of {name} is {kind}" if kind else f"{name} looks like a secret"
            )
            yield Finding(Code.SECRET_IN_FILE, (*place, "env", name), said, fix, key=not kind)
    for field, arguments in words.items():
        for index, said in _secret_arguments(arguments):
            yield Finding(Code.SECRET_IN_FILE, (*place, field, index), _said(said), fix)


def _secret_arguments(arguments: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The arguments that hold a secret, each with what it is: by ``--flag=value``, or by the word
    after a flag, be it of the same argument (as in a line for a shell) or the next one."""
    words = [(index, word) for index, each in enumerate(arguments) for word in each.split()]
    told = {index: kind for index, each in enumerate(arguments) if (kind := _kind_of_key(each))}
    yield from ((index, f"this argument holds {kind}") for index, kind in told.items())
    for (index, word), (following, value) in zip_longest(words, words[1:], fillvalue=(0, "")):
        flag, equals, given = word.partition("=")
        at = index
        if not equals and word.startswith("-") and not value.startswith("-"):
            at, given = following, value
        if _is_secret(flag, given) and at not in told:
            told[at] = flag
            yield at, f"{flag} looks like a secret"


def _said(what: str) -> str:
    return f"{what}, and everyone who reads Git would have it"


def _kind_of_key(value: str) -> str:
    """What kind of key stands in a text; empty where none does."""
    found = _KEY.search(value)
    return _KINDS[found.lastgroup or ""] if found else ""


def _is_secret(name: str, value: str) -> bool:
    """Whether a value is a secret by the name that it is given."""
    if not value or _HARMLESS.fullmatch(value):
        return False
    return bool(_SECRET.search(name)) and not _ABOUT_ONE.search(name)
