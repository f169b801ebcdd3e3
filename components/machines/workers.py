"""Worker pools: a MachineDeployment each, or one for each zone where rollouts keep zones apart."""

from components.machines import names
from components.machines.adopted import as_kept
from components.machines.applied import not_in_name
from components.machines.bootstrap import kubeadm_config, machine_labels, registration
from components.machines.in_place import machine_taints
from components.machines.templates import data_template, machine_template
from components.making.manifest import Json, Manifest, filled, hash_name, name_content, prune
from schemas.facts.adopted import kept_machines, management_names
from schemas.facts.site import Site
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Remedy, RolloutStrategy

NODE_DELETION_TIMEOUT_SECONDS = 600
"""Nodes are named after hosts, so a Node left behind would keep the host's next machine out: the
deletion is tried for longer than Cluster API's 10 seconds."""
VOLUME_DETACH_TIMEOUT_SECONDS = 600


def workers(site: Site) -> list[Manifest]:
    """The objects of all worker pools, in the order of the file."""
    found: list[Manifest] = []
    for pool in site.worker_pools:
        if stays := kept_machines(site, pool):
            found.append(as_kept(site, stays, f"MachineDeployment/{pool.name}", pool))
            continue
        config = config_template(site, pool)
        data = data_template(site, pool)
        found += [config, data]
        for zone in site.zones_of(pool) if pool.rollout.by_zone else (None,):
            template = machine_template(site, pool, data, zone)
            found += [template, deployment(site, pool, config, template, zone)]
    return found


def config_template(site: Site, pool: Pool) -> Manifest:
    """The KubeadmConfigTemplate of a pool; named by its content, as edits in place do nothing to
    its machines: but for what an agent applies to them."""
    config = prune({**kubeadm_config(site, pool), "joinConfiguration": registration(site, pool)})
    spec: Json = {"template": {"spec": config}}
    left_out = not_in_name(site, pool)
    body = {
        "apiVersion": names.BOOTSTRAP_API,
        "kind": "KubeadmConfigTemplate",
        "metadata": names.metadata(site, hash_name(pool.name, name_content(spec, left_out))),
        "spec": spec,
    }
    return Manifest(f"KubeadmConfigTemplate/{pool.name}", body, keep=True, not_in_name=left_out)


def deployment(
    site: Site, pool: Pool, config: Manifest, template: Manifest, zone: str | None = None
) -> Manifest:
    """The MachineDeployment of a pool (in one zone)."""
    name = f"{pool.name}-{zone}" if zone else pool.name
    match = {names.CLUSTER_LABEL: management_names(site).cluster, names.DEPLOYMENT_LABEL: name}
    if pool.adopted:
        name, match = pool.adopted.deployment, dict(pool.adopted.selector)
    cluster, rollout = management_names(site).cluster, pool.rollout
    pace = {"maxSurge": rollout.max_surge, "maxUnavailable": rollout.max_unavailable}
    pace = {} if rollout.strategy is RolloutStrategy.ON_DELETE else pace
    (body,) = filled(
        __file__,
        metadata=names.metadata(site, name, **{names.CLUSTER_LABEL: cluster}),
        site=cluster,
        replicas=site.replicas(pool, zone),
        strategy={"type": rollout.strategy.value, "rollingUpdate": pace},
        match=match,
        labels={**match, **machine_labels(site, pool)},
        version=site.version(pool),
        zone=zone,
        config=_reference(config),
        template=_reference(template),
        deletion=deletion(pool),
        taints=machine_taints(pool),
        remediation={"maxInFlight": 1} if pool.health_check.remedy is Remedy.REPLACE else None,
    )
    body["spec"] = prune(body["spec"])
    logical = f"{pool.name}/{zone}" if zone else pool.name
    return Manifest(f"MachineDeployment/{logical}", body, protect=True)


def deletion(pool: Pool) -> Json:
    """Time limits of a machine's deletion; all are set, as 0 means no limit."""
    return {
        "nodeDrainTimeoutSeconds": pool.rollout.drain_timeout_seconds,
        "nodeVolumeDetachTimeoutSeconds": VOLUME_DETACH_TIMEOUT_SECONDS,
        "nodeDeletionTimeoutSeconds": NODE_DELETION_TIMEOUT_SECONDS,
    }


def _reference(template: Manifest) -> Json:
    api, kind, _, name = template.key
    return {"apiGroup": names.group(api), "kind": kind, "name": name}
