"""Rules on versions: what Cluster API, Metal3, Kubernetes and OS images go with."""

from collections.abc import Iterator

from schemas.facts.adopted import kept_machines
from schemas.facts.site import Site
from schemas.model.hardware import Arch
from schemas.model.primitives import minor, version_numbers
from schemas.model.release import Release
from schemas.model.texts import nearest
from schemas.rules.finding import Finding, InPool, advise, say

SUPPORTED_MINORS = {12: (29, 35), 13: (30, 37)}
"""Kubernetes minors of sites by Cluster API minor (release notes of v1.12.9 and v1.13.6)."""
MAX_WORKER_SKEW = 3
"""Minors that a kubelet may lag behind the API server (Kubernetes version skew policy)."""


def versions(site: Site) -> Iterator[Finding]:
    """The cluster's versions are ones that the release was made for."""
    cluster, known = site.file.cluster, site.release.kubernetes
    for place, version in (("kubernetes", cluster.kubernetes), ("workers", cluster.workers)):
        if version is not None:
            yield from _supported_minor(site, ("cluster", place), version, known)
    if cluster.workers is not None:
        yield from _skew(cluster.kubernetes, cluster.workers)


def operating_system(at: InPool) -> Iterator[Finding]:
    """A pool's operating system has an image for the Kubernetes version of its machines."""
    site, pool = at.site, at.pool
    if kept_machines(site, pool):
        return  # its image is that of a template which Foresite does not make
    systems, name = site.release.operating_systems, site.os_name(pool)
    place = at.path("os") if pool.os else at.path("name")
    if name not in systems:
        yield say("os-unknown", place, site, name, advise(name, systems))
        return
    version, builds = site.version(pool), systems[name].images
    # A version that the release does not know at all is one fault, not one of each pool.
    if version in site.release.kubernetes and version not in builds:
        other = next((each for each in systems if version in systems[each].images), None)
        first = f"write {'' if pool.os else 'os: '}{other}, or " if other is not None else ""
        yield say("os-image-missing", place, name, version, ", ".join(builds), first)
    arm64 = pool.hardware in site.hardware and site.profile(pool).arch is Arch.ARM64
    if arm64 and version in builds and builds[version].arm64 is None:
        yield say("os-image-of-arm64", place, name, version)


def images(site: Site) -> Iterator[Finding]:
    """No image of the site stands beside one of the release by the same name."""
    for name in site.file.sources.images:
        if name in site.release.images:
            yield say("image-of-release", ("sources", "images", name), site, name)


def _supported_minor(
    site: Site, place: tuple[str, ...], version: str, known: list[str]
) -> Iterator[Finding]:
    core = site.release.cluster_api.core
    # A release of another Cluster API is a fault of the release, which ``release_findings`` names.
    low, high = SUPPORTED_MINORS.get(minor(core), (0, minor(version)))
    advice = nearest(version, known) or f"one of {', '.join(known)}"
    if not low <= minor(version) <= high:
        yield say("version-unsupported", place, site, core, low, high, version, advice)
    elif version not in known and not all(kept_machines(site, p) for p in site.file.pools):
        yield say("version-unknown", place, site, version, advice)


def _skew(control_plane: str, workers: str) -> Iterator[Finding]:
    place = ("cluster", "workers")
    behind = minor(control_plane) - minor(workers)
    least = f"v1.{minor(control_plane) - MAX_WORKER_SKEW}"
    if version_numbers(workers) > version_numbers(control_plane):
        yield say("workers-ahead", place, workers, control_plane)
    elif behind > MAX_WORKER_SKEW:
        yield say("workers-behind", place, workers, control_plane, behind, least, MAX_WORKER_SKEW)


def release_findings(release: Release) -> Iterator[str]:
    """The faults of a release itself: parts of Cluster API that were not made for each other. CAPM3
    speaks contract v1beta2 from 1.13 on, and is built against the Cluster API of its minor (its
    README, compatibility table; go.mod of v1.13.2)."""
    parts = release.cluster_api
    if minor(parts.core) not in SUPPORTED_MINORS:
        yield f"Cluster API {parts.core} is not one that objects are written for (v1.13)"
    if minor(parts.metal3) != minor(parts.core):
        yield f"Cluster API {parts.core} does not go with its Metal3 provider {parts.metal3}"
    if minor(parts.baremetal_operator) != minor(parts.metal3):
        yield f"Metal3 provider {parts.metal3} does not go with Bare Metal Operator " + str(
            parts.baremetal_operator
        )
