"""What a site says of its hosts' files, commands and kernels, as parts of a KubeadmConfigSpec.

cloud-init runs ``bootcmd`` at each boot, before files are written; the arguments of the kernel are
set there, as a reboot after it would leave the join out. Other commands run once
(cloud-init 22.4 to 26.2, cc_bootcmd, cc_runcmd).
"""

import shlex
from collections.abc import Mapping
from pathlib import Path

from components.making.manifest import Json
from schemas.model.host_settings import HostSettings

MODULES = "/etc/modules-load.d/foresite.conf"
SYSCTLS = "/etc/sysctl.d/99-zz-foresite.conf"
"""Read last, as files of an OS image are called 99-sysctl.conf at most (sysctl.d(5))."""
_ARGUMENTS = Path(__file__).with_name("kernel_arguments.sh")


def host_file(path: str, content: str, permissions: str = "0644") -> Json:
    """A file of root's on a host; "0600": what only root reads, as of static pods."""
    return {"path": path, "owner": "root:root", "permissions": permissions, "content": content}


def setting_files(settings: HostSettings, texts: Mapping[str, str]) -> list[Json]:
    """The files of hosts, Foresite's for the kernel first; ``texts`` are those below sites/."""
    sysctls = "".join(f"{key} = {value}\n" for key, value in sorted(settings.sysctls.items()))
    modules = "".join(f"{name}\n" for name in settings.modules)
    own = [(MODULES, modules), (SYSCTLS, sysctls)]
    found = [host_file(path, text) for path, text in own if text]
    for each in settings.files:
        text = texts[each.source].replace("\r\n", "\n") if each.source else each.content
        found.append({**host_file(each.path, text or "", each.permissions), "owner": each.owner})
    return found


def before_join(settings: HostSettings) -> list[str]:
    """The commands before kubeadm: modules first, as some sysctls come with them."""
    found = [f"modprobe --all {' '.join(settings.modules)}"] if settings.modules else []
    found += [f"sysctl --quiet --load={SYSCTLS}"] if settings.sysctls else []
    return [*found, *_lines("before_join", settings.before_join, "; exit 1")]


def after_join(settings: HostSettings) -> list[str]:
    """The commands after kubeadm."""
    return _lines("after_join", settings.after_join)


def _lines(field: str, lines: list[str], then: str = "") -> list[str]:
    """Each line in a shell of its own: whatever it is, the shell that joins the host goes on to
    what stands behind it, which says that it failed."""
    return [
        f"sh -c {shlex.quote(line)} || {{ echo 'Foresite: {field}[{number}] failed' >&2{then}; }}"
        for number, line in enumerate(lines)
    ]


def boot_commands(settings: HostSettings) -> list[str]:
    """The command at each boot that gives the kernel its arguments; none without any."""
    if not settings.kernel_arguments:
        return []
    arguments = shlex.quote(" ".join(settings.kernel_arguments))
    return [f"arguments={arguments}\n{_ARGUMENTS.read_text('utf-8')}"]
