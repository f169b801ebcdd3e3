"""Rules on versions: what Cluster API, Metal3, Kubernetes and OS images go with."""

from collections.abc import Iterator

from schemas.codes import Code
from schemas.primitives import minor
from schemas.release import Release
from schemas.rules.finding import Finding
from schemas.site import Site

SUPPORTED_MINORS = {12: (29, 36), 13: (30, 36)}
"""Kubernetes minors of workload clusters by Cluster API minor (Cluster API book, reference/versions,
release 1.13)."""
MAX_WORKER_SKEW = 3
"""Minors that a kubelet may lag behind the API server (Kubernetes version skew policy)."""


def versions(site: Site) -> Iterator[Finding]:
    """Control plane and workers have versions that work together, and an image to boot."""
    cluster = site.file.cluster
    known = site.release.kubernetes
    for place, version in (("kubernetes", cluster.kubernetes), ("workers", cluster.workers)):
        if version is not None:
            yield from _supported(site, ("cluster", place), version, known)
    if cluster.workers is not None:
        yield from _skew(cluster.kubernetes, cluster.workers)
    for index, pool in enumerate(site.file.pools):
        systems = site.release.operating_systems
        name = site.os_name(pool)
        if name not in systems:
            yield Finding(
                Code.UNKNOWN_OS,
                ("pools", index, "os"),
                f"release {site.release.release} has no operating system {name}",
                f"write one of {', '.join(systems)}",
            )
        elif site.version(pool) not in systems[name].images:
            builds = systems[name].images
            yield Finding(
                Code.OS_IMAGE_MISSING,
                ("pools", index, "os") if pool.os else ("pools", index, "name"),
                f"{name} has no image for Kubernetes {site.version(pool)}, only for "
                f"{', '.join(builds)}",
                "choose a Kubernetes version that has an image, or add the image to the release",
            )


def _supported(
    site: Site, place: tuple[str, ...], version: str, known: list[str]
) -> Iterator[Finding]:
    core = site.release.cluster_api.core
    low, high = SUPPORTED_MINORS.get(minor(core), (0, 0))
    if not low <= minor(version) <= high:
        yield Finding(
            Code.VERSION_UNSUPPORTED,
            place,
            f"Cluster API {core} of release {site.release.release} runs Kubernetes v1.{low} to "
            f"v1.{high}, not {version}",
            f"write one of {', '.join(known)}",
        )
    elif version not in known:
        yield Finding(
            Code.VERSION_UNSUPPORTED,
            place,
            f"release {site.release.release} was not made for Kubernetes {version}",
            f"write one of {', '.join(known)}, or add the version and its images to the release",
        )


def _skew(control_plane: str, workers: str) -> Iterator[Finding]:
    place = ("cluster", "workers")
    behind = minor(control_plane) - minor(workers)
    if [int(n) for n in workers[1:].split(".")] > [int(n) for n in control_plane[1:].split(".")]:
        yield Finding(
            Code.VERSION_SKEW,
            place,
            f"workers {workers} are ahead of the control plane {control_plane}",
            f"upgrade the control plane first: kubernetes: {workers}, workers: {control_plane}",
        )
    elif behind > MAX_WORKER_SKEW:
        yield Finding(
            Code.VERSION_SKEW,
            place,
            f"workers {workers} are {behind} minors behind the control plane {control_plane}; "
            f"{MAX_WORKER_SKEW} are allowed",
            f"upgrade the workers to v1.{minor(control_plane) - MAX_WORKER_SKEW} or later first",
        )


def release_findings(release: Release) -> Iterator[str]:
    """What is wrong in a release itself: parts of Cluster API that were not made for each other.

    Cluster API Provider Metal3 speaks contract v1beta2 from 1.13 on, and is built against the
    Cluster API of the same minor (its README, compatibility table; go.mod of v1.13.2).
    """
    parts = release.cluster_api
    if minor(parts.core) not in SUPPORTED_MINORS:
        yield f"Cluster API {parts.core} is not one that objects are written for (v1.13)"
    if minor(parts.metal3) != minor(parts.core):
        yield f"Cluster API {parts.core} does not go with its Metal3 provider {parts.metal3}"
    if minor(parts.baremetal_operator) != minor(parts.metal3):
        yield f"Metal3 provider {parts.metal3} does not go with Bare Metal Operator " + str(
            parts.baremetal_operator
        )
