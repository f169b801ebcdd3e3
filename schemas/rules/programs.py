"""Rules on the programs that a site's own accelerator models bring: no secrets, no mount twice, and
a resource that kubelets take."""

import re
from collections.abc import Iterator

from schemas.accelerators import Program
from schemas.codes import Code
from schemas.rules.extended import kept_by_kubernetes
from schemas.rules.finding import Finding, Path
from schemas.site import Site

_SECRET = re.compile(
    r"(?i)(^|[-_.])(passwords?|passwd|secrets?|tokens?|credentials?|api[-_]?keys?|access[-_]?keys?)"
    r"($|[-_.=])"
)
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


def _of_program(place: Path, program: Program) -> Iterator[Finding]:
    fix = "let the program read a file of the host, which the OS image or an operator's tool fills"
    for key, value in program.env.items():
        if _SECRET.search(key) and value:
            said = f"{key} looks like a secret, and everyone who reads Git would have it"
            yield Finding(Code.SECRET_IN_FILE, (*place, "env", key), said, fix, key=True)
    for index, argument in enumerate(program.args):
        flag, _, value = argument.partition("=")
        if value and _SECRET.search(flag):
            said = f"{flag} looks like a secret, and everyone who reads Git would have it"
            yield Finding(Code.SECRET_IN_FILE, (*place, "args", index), said, fix)
    for index, path in enumerate(program.host_paths):
        if path in program.host_paths[:index] or path in _MOUNTED:
            said = f"{path} is mounted already"
            yield Finding(Code.DUPLICATE_NAME, (*place, "host_paths", index), said, "remove it")
