"""A small site with what the real ones do not use, the files expected of it and of lab-1, and the
objects of all sites as tests look at them.

``rendered`` is what these commands write; a change to it is read like any other in a review:

    uv run foresite --root tests/fleet render lab-1 --out tests/golden/rendered
    uv run foresite --root tests/golden render --out tests/golden/rendered
"""

import functools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

from components.making.manifest import Json, Manifest
from components.site import site_objects
from schemas.facts.site import Site
from schemas.load import load
from schemas.model.site_file import Pool
from tests.kit.repository import all_sites

GOLDEN = FilePath(__file__).resolve().parent
Path = tuple[str | int, ...]
RENDERED = GOLDEN / "rendered"
MANAGED = ("KubeadmControlPlane", "MachineDeployment")
"""The kinds that make Machines."""


@functools.cache
def every_site() -> dict[str, Site]:
    """The sites of the repository, and edge-1."""
    loaded = load(GOLDEN)
    problems = [str(problem) for each in loaded.values() for problem in each.problems]
    assert not problems, problems
    return all_sites() | {name: each.site for name, each in loaded.items() if each.site}


def objects(site: Site) -> list[Manifest]:
    """Every object of a site."""
    if every_site().get(site.name) is site:
        return list(_objects(site.name))
    return [manifest for made in site_objects(site).values() for manifest in made]


@functools.cache
def _objects(name: str) -> tuple[Manifest, ...]:
    """The objects of a site as it is, which most tests look at."""
    return tuple(each for made in site_objects(every_site()[name]).values() for each in made)


def of_kind(site: Site, *kinds: str) -> list[Manifest]:
    """The objects of a site that are of one of some kinds."""
    return [manifest for manifest in objects(site) if manifest.kind in kinds]


def one(site: Site, name: str) -> Json:
    """The body of the one object with a logical name."""
    (body,) = [manifest.body for manifest in objects(site) if manifest.name == name]
    return body


def walk(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value in an object with its path, collections before what they hold."""
    yield path, value
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from walk(item, (*path, key))


def name_of(body: Json) -> str:
    """The name that an object has in its cluster."""
    return str(body["metadata"]["name"])


def pools(site: Site) -> dict[str, Pool]:
    """The pools of a site by name."""
    return {pool.name: pool for pool in site.file.pools}


def pool_of(site: Site, managed: Json) -> Pool:
    """The pool that a KubeadmControlPlane or a MachineDeployment makes the machines of."""
    if managed["kind"] == "KubeadmControlPlane":
        return site.control_plane
    labels = managed["spec"]["template"]["metadata"]["labels"]
    return pools(site)[labels["node.cluster.x-k8s.io/pool"]]


def bootstraps(site: Site) -> dict[str, Json]:
    """The KubeadmConfigSpec of each pool."""
    found = {site.control_plane.name: one(site, "KubeadmControlPlane")["spec"]["kubeadmConfigSpec"]}
    for pool in site.worker_pools:
        body = one(site, f"KubeadmConfigTemplate/{pool.name}")
        found[pool.name] = body["spec"]["template"]["spec"]
    return found


def with_file(site: Site, **fields: Any) -> Site:
    """The site with other fields of its file."""
    return replace(site, file=site.file.model_copy(update=fields))


def with_pool(site: Site, which: str, /, **fields: Any) -> Site:
    """The site with other fields of one pool."""
    others = [p.model_copy(update=fields) if p.name == which else p for p in site.file.pools]
    return with_file(site, pools=others)
