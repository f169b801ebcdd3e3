"""The health checks by which medik8s repairs hosts: one for each of its remediators and pools."""

from components.making.faults import CONDITIONS
from components.making.manifest import Json, Manifest, by_kind, documents, fill
from components.remediation.names import REMEDIATOR_LABEL, metadata, remediator_labels, settings_of
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.model.remediation import Remediation, Remediator
from schemas.model.site_file import Pool
from schemas.model.vocabulary import RemediatorKind

_DOCUMENTS = documents(__file__)
TEMPLATE_API, CHECK_API = (each["apiVersion"] for each in _DOCUMENTS)
NEVER = "87600h"
"""Ten years: a condition with this duration never makes a node unhealthy, and while it holds the
node does not count as healthy, and its remediation is not ended (soonMatchingNodes upstream)."""


def health_checks(site: Site) -> list[Manifest]:
    """The objects of a site's remediators of the kind medik8s."""
    found: list[Manifest] = []
    for remediator in site.file.remediation.healers if site.file.remediation else ():
        if remediator.kind is RemediatorKind.MEDIK8S:
            pools = [each for each in site.file.pools if each.name in remediator.pools]
            mine = [each for each in pools if site.repairs(each, remediator)]
            if mine:
                name, where = remediator.name, settings_of(site).medik8s.namespace
                values = {"metadata": metadata(site, name, where, **{REMEDIATOR_LABEL: name})}
                found += by_kind([fill(_DOCUMENTS[0], values)], name)
            found += [_check(site, remediator, each) for each in mine]
    return found


def _check(site: Site, remediator: Remediator, pool: Pool) -> Manifest:
    """The health check of a remediator's pool."""
    settings, name = settings_of(site), f"{remediator.name}-{pool.name}"
    types = [CONDITIONS[each] for each in site.repairs(pool, remediator)]
    values = {
        "metadata": metadata(site, name, **remediator_labels(remediator, pool)),
        "pool": {POOL_LABEL: pool.name},
        "conditions": _conditions(settings, types),
        "number": remediator.max_unavailable,
        "settled": f"{_settling_seconds(settings)}s",
        "timeout": f"{settings.reboot.timeout_seconds}s",
        "namespace": settings.medik8s.namespace,
        "name": remediator.name,
    }
    return by_kind([fill(_DOCUMENTS[1], values)], f"{remediator.name}/{pool.name}")[0]


def _conditions(settings: Remediation, types: list[str]) -> list[Json]:
    """The conditions that make a node unhealthy: any of the faults, for long enough.

    A fault of which nothing is known, and a node that is not ready, change nothing (``NEVER``) but
    that the node is not counted as healthy. Nodes that do not answer are Cluster API's to repair.
    """
    long_enough = f"{settings.medik8s.unhealthy_seconds}s"
    found = [{"type": each, "status": "True", "duration": long_enough} for each in types]
    found += [{"type": each, "status": "Unknown", "duration": NEVER} for each in types]
    ready = [{"type": "Ready", "status": each, "duration": NEVER} for each in ("False", "Unknown")]
    return [*found, *ready]


def _settling_seconds(settings: Remediation) -> int:
    """The time until a fault that is still there is found again, twice over: for so long a host has
    to look healthy before it counts, and a pool before it is repaired again after too many."""
    detector = settings.detector
    found = detector.interval_seconds * max(detector.bad_after, detector.good_after)
    return 2 * found + settings.medik8s.unhealthy_seconds
