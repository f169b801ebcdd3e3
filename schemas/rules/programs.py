"""Rules on the programs that a site brings: no secrets; for those of accelerators no mount twice,
and a resource that kubelets take."""

import re
from collections.abc import Iterator, Mapping, Sequence

from schemas.accelerators import Program
from schemas.codes import Code
from schemas.rules.extended import kept_by_kubernetes
from schemas.rules.finding import Finding, Path
from schemas.site import Site

_SECRET = re.compile(
    r"(?i)(^|[-_.])(passwords?|passwd|secrets?|tokens?|credentials?|api[-_]?keys?|access[-_]?keys?)"
    r"($|[-_.=])"
)
_ABOUT_ONE = re.compile(
    r"(?i)[-_.](files?|paths?|dir|folder|audiences?|issuers?|seconds|ttl|expiry|expiration|url|names?)$"
)
"""Ends of names that say something of a secret, such as where its file is, and are none."""
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


def server_settings(site: Site) -> Iterator[Finding]:
    """What the server of the object cache is given is no secret."""
    server = site.file.cache.server if site.file.cache else None
    if server is not None:
        words = {"command": server.command, "args": server.args}
        yield from _secrets(("cache", "server"), server.env, words)


def _of_program(place: Path, program: Program) -> Iterator[Finding]:
    yield from _secrets(place, program.env, {"args": program.args})
    for index, path in enumerate(program.host_paths):
        if path in program.host_paths[:index] or path in _MOUNTED:
            said = f"{path} is mounted already"
            yield Finding(Code.DUPLICATE_NAME, (*place, "host_paths", index), said, "remove it")


def _secrets(
    place: Path, env: Mapping[str, str], words: Mapping[str, Sequence[str]]
) -> Iterator[Finding]:
    """Values that look like secrets: of variables, and of the words of a command by field."""
    fix = "let the program read a file of the host, which the OS image or an operator's tool fills"
    for key, value in env.items():
        if value and _is_secret(key):
            said = f"{key} looks like a secret, and everyone who reads Git would have it"
            yield Finding(Code.SECRET_IN_FILE, (*place, "env", key), said, fix, key=True)
    for field, arguments in words.items():
        for index, argument in enumerate(arguments):
            flag, _, value = argument.partition("=")
            if value and _is_secret(flag):
                said = f"{flag} looks like a secret, and everyone who reads Git would have it"
                yield Finding(Code.SECRET_IN_FILE, (*place, field, index), said, fix)


def _is_secret(name: str) -> bool:
    return bool(_SECRET.search(name)) and not _ABOUT_ONE.search(name)
