"""Rules on data disks: that the metal has them, and that what uses them lies on them."""

from collections.abc import Iterator

from schemas.facts.site import Site
from schemas.reading.paths import each_at
from schemas.rules.finding import Finding, InPool, say
from schemas.rules.object_cache_server import MOUNT_FOLDERS, taken_folder


def profiles(site: Site) -> Iterator[Finding]:
    """The data disks that a site's own profile names are not its root disk."""
    for place, device in each_at(site.file, "hardware.*.data_disks.devices.*"):
        if device == site.file.hardware[str(place[1])].root_disk.device_name:
            yield say("data-disk-is-root-disk", place, device)


def file_systems(at: InPool) -> Iterator[Finding]:
    """Where data disks are made, the pool's hosts have some, and its cache lies on them."""
    site, pool = at.site, at.pool
    place = at.path("first_boot") if pool.first_boot else ("first_boot",)
    made = site.first_boot(pool).data_disks
    if made is None:
        return
    profile = site.hardware.get(pool.hardware)
    if profile and profile.data_disks is None:
        yield say("data-disks-missing", at.path("hardware"), pool, made)
    folder = made.mount if made.mount in MOUNT_FOLDERS else taken_folder(made.mount)
    if folder:
        yield say("data-disks-mount-reserved", (*place, "data_disks", "mount"), made, folder)
    cache = site.file.cache
    if cache is None or pool not in site.cache_pools():
        return
    mount, _, folder = cache.data_path.rpartition("/")
    if mount != made.mount:
        yield say("cache-beside-data-disks", ("cache", "data_path"), cache, made)
    elif made.folders.get(folder) != cache.server.user:
        yield say("cache-folder-missing", (*place, "data_disks"), folder, cache)
