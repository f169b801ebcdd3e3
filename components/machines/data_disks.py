"""The data disks of a pool's hosts: a script that makes their file system at the first boot.

cloud-init has no module for RAID, its ``mounts`` ignores links to disks, and ``bootcmd`` runs at
each boot, before files are written (cloud-init 22.4 to 26.2, cc_mounts, cc_bootcmd). So the script
is a file (``write_files``), and a command of kubeadm's own list (``runcmd``), once an installation.
"""

import shlex
from pathlib import Path

from schemas.facts.site import Site
from schemas.model.site_file import Pool

PROGRAM = "/usr/local/sbin/foresite-data-disks"
_SCRIPT = Path(__file__).with_name("data_disks.sh")


def data_disks_script(site: Site, pool: Pool) -> str | None:
    """The script of a pool; None where its hosts' data disks are not Foresite's."""
    made, disks = site.first_boot(pool).data_disks, site.profile(pool).data_disks
    if made is None or disks is None:
        return None
    settings = {
        "mount": made.mount,
        "filesystem": made.filesystem.value,
        "devices": " ".join(disks.devices),
        "all": "" if disks.devices else "yes",
        "count": str(disks.count or len(disks.devices)),
        "folders": " ".join(f"{owner}:{name}" for name, owner in made.folders.items()),
    }
    lines = [f"{name}={shlex.quote(value)}" for name, value in settings.items()]
    return "\n".join(["#!/bin/sh", *lines, _SCRIPT.read_text("utf-8")])
