"""Rules on data disks: that the metal has them, and that what uses them lies on them."""

from collections.abc import Iterator

from schemas.facts.site import Site
from schemas.model.codes import Code
from schemas.rules.finding import Finding
from schemas.rules.object_cache_server import MOUNT_FOLDERS, taken_folder
from schemas.rules.scope import InPool


def profiles(site: Site) -> Iterator[Finding]:
    """A site's own profile says how many data disks there are, or which, and not its root disk."""
    for name, profile in site.file.hardware.items():
        disks = profile.data_disks
        if disks is None:
            continue
        place = ("hardware", name, "data_disks")
        if bool(disks.devices) is (disks.count is not None):
            message = "data_disks says " + ("both count and devices" if disks.count else "nothing")
            fix = "write count for all NVMe disks but the root disk, or devices"
            yield Finding(Code.INVALID_VALUE, place, message, fix)
        for index, device in enumerate(disks.devices):
            at = (*place, "devices", index)
            if device == profile.root_disk.device_name:
                message = f"{device} is the disk of the operating system, which would be wiped"
                yield Finding(Code.INVALID_VALUE, at, message, "write another disk")


def file_systems(at: InPool) -> Iterator[Finding]:
    """Where data disks are made, the pool's hosts have some, and its cache lies on them."""
    site, pool = at.site, at.pool
    place = at.path("first_boot") if pool.first_boot else ("first_boot",)
    made = site.first_boot(pool).data_disks
    if made is None:
        return
    profile = site.hardware.get(pool.hardware)
    if profile and profile.data_disks is None:
        yield Finding(
            Code.MISSING_FIELD,
            at.path("hardware"),
            f"nothing says which disks of {pool.hardware} become {made.mount} of its hosts",
            "add data_disks to the profile, or give the pool a first_boot without data_disks",
        )
    folder = made.mount if made.mount in MOUNT_FOLDERS else taken_folder(made.mount)
    if folder:
        message = f"a disk at {made.mount} would hide what hosts have in {folder}"
        fix = "write /srv/nvme, or another folder for the data alone"
        yield Finding(Code.RESERVED_NAME, (*place, "data_disks", "mount"), message, fix)
    cache = site.file.cache
    if cache is None or pool not in site.cache_pools():
        return
    mount, _, folder = cache.data_path.rpartition("/")
    if mount != made.mount:
        message = f"{cache.data_path} is not a folder of the data disks at {made.mount}"
        fix = f"write {made.mount}/cache"
        yield Finding(Code.INVALID_VALUE, ("cache", "data_path"), message, fix)
    elif made.folders.get(folder) != cache.server.user:
        message = f"no folder {folder} of user {cache.server.user} is made for the cache's objects"
        fix = f"add folders: {{{folder}: {cache.server.user}}}"
        yield Finding(Code.INVALID_VALUE, (*place, "data_disks"), message, fix)
