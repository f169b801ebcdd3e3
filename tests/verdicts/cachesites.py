"""Sites with an object cache, as bases and edits of the rows about it."""

import re

from tests.kit.preview_repository import Repository
from tests.verdicts.edits import DIGEST, Edit, applied, site, together
from tests.verdicts.row import restarted

POOLS = ("control", "cpu", "v100", "a100", "h100")
"""The pools of tokyo-1, all of which keep objects unless a base says otherwise."""
ALL = {pool: restarted() for pool in POOLS}
KEEPERS = {"cpu": restarted(), "a100": restarted()}
"""The pools that keep objects after KEEP_SOME; Envoy runs on all."""
LAB = {"lab": restarted()}
TSUKUBA_ALL = {pool: restarted() for pool in ("control", "cpu", "mncore2")}


def tokyo(old: str, new: str) -> Edit:
    """Other text in the site file of tokyo-1."""
    return site("tokyo-1", old, new)


def server(text: str) -> Edit:
    """A further setting of tokyo-1's server."""
    return tokyo("  buckets:\n    - {name: vision", f"    {text}\n  buckets:\n    - {{name: vision")


def envoy(text: str) -> Edit:
    """Settings of tokyo-1's Envoys."""
    return tokyo("  buckets:\n", f"  envoy: {{{text}}}\n  buckets:\n")


def setting(text: str) -> Edit:
    """A further setting of tokyo-1's cache."""
    return tokyo("  data_path:", f"  {text}\n  data_path:")


FEWER_BYTES = together(
    tokyo("vision, quota: 400Ti", "vision, quota: 40Ti"),
    tokyo("language, quota: 400Ti", "language, quota: 40Ti"),
)
"""Buckets that fit on the hosts of two pools."""
IMAGE_MAKES_DISKS = tokyo("  data_disks: {mount: /srv/nvme, folders: {cache: 65532}}\n", "")
"""Data disks that the OS image makes, with any folder."""
KEEP_SOME = together(FEWER_BYTES, setting("pools: [cpu, a100]"))
"""Two pools of tokyo-1 keep objects, so that servers and Envoys are on different hosts."""
NO_RELOAD = tokyo("    reloads_config: true\n", "")
LAYERS = "  image_layers: {bucket: image-layers, registries: [docker.io, registry.example]}\n"
NO_LAYERS = tokyo(LAYERS, "")
NO_ADDRESS = tokyo("  address: 10.96.0.80\n", "")

TSUKUBA_CACHE = f"""
cache:
  data_path: /srv/nvme/cache
  capacity: 3000Gi
  server:
    image: registry.example/cache/cache-server:v0.1.0@sha256:{DIGEST}
    reloads_config: true
  buckets: [{{name: compilers, quota: 2Ti, namespaces: [compilers]}}]
"""
_BUCKETS = "[{name: compilers, quota: 2Ti, namespaces: [compilers]}]"
LAB_CACHE = TSUKUBA_CACHE.replace("compilers", "trials").replace("3000Gi", "1500Gi")
TOKYO_CACHE = (
    TSUKUBA_CACHE.replace("  data_path:", "  address: 10.96.0.80\n  data_path:")
    .replace(
        _BUCKETS,
        "[{name: image-layers, quota: 20Ti, public: true, namespaces: [cache-service]}]",
    )
    + LAYERS
)  # fmt: skip


def appended(name: str, text: str) -> Edit:
    """A site file with more text at its end."""

    def edit(repository: Repository) -> None:
        file = f"sites/{name}.yaml"
        repository.write(file, f"{repository.text(file).rstrip()}\n{text}")

    return edit


def without_cache(name: str) -> Edit:
    """A site file without its cache, whose lines are indented."""

    def edit(repository: Repository) -> None:
        file = f"sites/{name}.yaml"
        kept, found = re.subn(r"\ncache:\n(?:  .*\n)+", "", repository.text(file))
        assert found == 1
        repository.write(file, kept)

    return edit


AT_TSUKUBA = (applied("tsukuba-1"), appended("tsukuba-1", TSUKUBA_CACHE))
"""tsukuba-1 with a cache on all its 64 hosts, whose server reads its buckets again."""
READS_ONCE = site("tsukuba-1", "    reloads_config: true\n", "")
