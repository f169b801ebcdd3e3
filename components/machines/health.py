"""Cluster API's health checks, as the last resort: a machine gone for long, and few at once.

The first remediator of a fault is not here. With the remedy reboot a machine that never became a
node is left alone (nodeStartupTimeoutSeconds 0): the Metal3 provider cannot power-cycle it, and its
vain request would block the health check of the others (CAPM3 1.13, metal3remediation_manager.go).
"""

from pathlib import Path

from components.machines.names import CLUSTER_LABEL, CONTROL_PLANE_LABEL, metadata
from components.making.manifest import Manifest, filled
from schemas.facts.adopted import kept_machines, management_names
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Remedy, Role
from schemas.rules.rollouts import STARTUP_MARGIN_SECONDS


def health_checks(site: Site) -> list[Manifest]:
    """A MachineHealthCheck for each pool, with the template of its remedy. Machines that stay as
    they were adopted lack the label by which it finds them."""
    found: list[Manifest] = []
    for pool in site.file.pools:
        if kept_machines(site, pool):
            continue
        if pool.health_check.remedy is Remedy.REBOOT:
            found.append(remediation_template(site, pool))
        found.append(health_check(site, pool))
    return found


def health_check(site: Site, pool: Pool) -> Manifest:
    """The conditions under which a pool's machine counts as failed, and how many may be at once: of
    a control plane one, as the power cycle asks nobody for the quorum."""
    check = pool.health_check
    control_plane = pool.role is Role.CONTROL_PLANE
    share = site.replicas(pool) * check.max_unhealthy_percent // 100
    made = remediation_template(site, pool).body
    reference = {"apiVersion": made["apiVersion"], "kind": made["kind"], "name": pool.name}
    (body,) = filled(
        __file__,
        metadata=metadata(site, pool.name, **{CLUSTER_LABEL: management_names(site).cluster}),
        site=management_names(site).cluster,
        selector={CONTROL_PLANE_LABEL: ""} if control_plane else {POOL_LABEL: pool.name},
        startup=startup_timeout(site, pool),
        timeout=check.unhealthy_timeout_seconds,
        most=1 if control_plane else max(1, share),
        template={"templateRef": reference} if check.remedy is Remedy.REBOOT else {},
    )
    return Manifest(f"MachineHealthCheck/{pool.name}", body)


def startup_timeout(site: Site, pool: Pool) -> int:
    """Seconds that a new machine may take to become a node; 0: no limit."""
    check = pool.health_check
    if check.remedy is Remedy.REBOOT:
        return 0
    install = 60 * site.profile(pool).install_minutes
    return check.node_startup_timeout_seconds or install + max(install, STARTUP_MARGIN_SECONDS)


def remediation_template(site: Site, pool: Pool) -> Manifest:
    """How often a pool's hosts are power-cycled, and how long each time may take."""
    check = pool.health_check
    (body,) = filled(
        Path(__file__).with_name("remediation_template.yaml"),
        metadata=metadata(site, pool.name),
        retries=check.reboot_retries,
        timeout=check.reboot_timeout_seconds,
    )
    return Manifest(f"Metal3RemediationTemplate/{pool.name}", body)
