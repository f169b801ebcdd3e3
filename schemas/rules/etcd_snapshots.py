"""Rules on snapshots of etcd: each has one place, and nobody reads it on the way there."""

from collections.abc import Iterator

from schemas.facts.site import Site
from schemas.model.codes import Code
from schemas.rules.finding import Finding, Path

_PLACE: Path = ("cluster", "etcd_snapshots")
_STORES = ("s3", "nfs", "claim")


def places(site: Site) -> Iterator[Finding]:
    """Snapshots go to exactly one place, by TLS where it is a bucket."""
    snapshots = site.file.cluster.etcd_snapshots
    if snapshots is None:
        return
    given = [each for each in _STORES if getattr(snapshots, each) is not None]
    if len(given) != 1:
        message = f"snapshots have {' and '.join(given) or 'no place'}, and need exactly one place"
        fix = "keep one of them" if given else "add s3:, nfs: or claim:"
        at = (*_PLACE, given[1]) if given else _PLACE
        yield Finding(Code.SNAPSHOT_PLACE, at, message, fix, key=True)
    elif snapshots.s3 and not snapshots.s3.endpoint.startswith("https:"):
        message = "a snapshot holds every Secret of the cluster, and would be sent without TLS"
        at = (*_PLACE, "s3", "endpoint")
        yield Finding(Code.SNAPSHOT_PLACE, at, message, "write an https URL of the store")
