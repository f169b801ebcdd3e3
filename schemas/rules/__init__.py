"""Rules between fields: each looks at a site, or at one zone or pool of it, and yields findings.

None raises and none stops another: where a file has faults its data has holes, and a rule that
looks into one ends there (``attempt``). ``site_findings`` runs all rules of one site, ``clashes``
those between sites.
"""

from collections.abc import Iterator

from schemas.facts.site import Site
from schemas.rules import (
    accelerators,
    accelerators_programs,
    accelerators_requests,
    addresses,
    files,
    hosts,
    identity,
    kubelet,
    monitoring,
    namespaces,
    network_devices,
    networks,
    object_cache,
    object_cache_endpoints,
    object_cache_server,
    policies,
    pools,
    remediation,
    remediation_detector,
    remediation_repairs,
    rollouts,
    schedulers,
    secrets,
    teams,
    teams_quotas,
    versions,
)
from schemas.rules.finding import Finding, HostCell, TextPlace, attempt
from schemas.rules.scope import InPool, InZone
from schemas.rules.sites import Footprint, clashes, footprint

SITE_RULES = (
    identity.contexts,
    identity.object_names,
    identity.template_marks,
    networks.networks,
    networks.pod_network,
    networks.service_network,
    addresses.endpoint_owner,
    addresses.endpoint_place,
    addresses.control_plane_spread,
    addresses.host_addresses,
    addresses.bmc_addresses,
    hosts.host_pools,
    hosts.host_zones,
    hosts.host_duplicates,
    pools.pool_names,
    pools.zone_names,
    pools.control_planes,
    versions.versions,
    files.pod_network,
    files.certificates,
    accelerators.model_records,
    accelerators.prefix,
    accelerators.resources,
    accelerators.images,
    accelerators_programs.program_settings,
    accelerators_requests.ways,
    accelerators_requests.expressions,
    accelerators_requests.volcano,
    accelerators_requests.gpu_operator,
    accelerators_requests.operator_resources,
    accelerators_requests.operator_runtime,
    schedulers.backend_names,
    schedulers.backend_pools,
    schedulers.backends_of_models,
    schedulers.backend_kinds,
    schedulers.plugins,
    schedulers.gang_times,
    schedulers.canaries,
    schedulers.replicas,
    network_devices.prefix,
    network_devices.device_resources,
    network_devices.pools_agree,
    network_devices.addresses,
    teams.priorities,
    teams.team_names,
    namespaces.one_owner,
    teams.team_priorities,
    teams.storage,
    teams_quotas.limit_models,
    teams_quotas.off_peak_hours,
    teams_quotas.off_peak_used,
    teams_quotas.limits_held,
    teams_quotas.overcommitment,
    teams_quotas.off_peak_there,
    object_cache.sizes,
    object_cache.quotas,
    object_cache.capacity,
    object_cache.table,
    object_cache.buckets,
    object_cache.bucket_namespaces,
    object_cache.keeping_pools,
    object_cache_endpoints.address,
    object_cache_endpoints.audience,
    object_cache_endpoints.discovery,
    object_cache_endpoints.bucket_file,
    object_cache_endpoints.image_layers,
    object_cache_server.server_port,
    object_cache_server.server_environment,
    object_cache_server.proxy_port,
    object_cache_server.data_path,
    object_cache_server.config_path,
    object_cache_server.proxy_image,
    object_cache_server.program_sizes,
    remediation.remediator_names,
    remediation.remediator_pools,
    remediation.remediator_faults,
    remediation.repairable_faults,
    remediation.one_healer,
    remediation.budgets,
    remediation.evictions,
    remediation.settings_used,
    remediation_repairs.last_resort,
    remediation_repairs.window,
    remediation_repairs.reporting_times,
    remediation_repairs.remediation_images,
    remediation_detector.disk_folders,
    remediation_detector.xids,
    remediation_detector.device_taints,
    remediation_detector.health_commands,
    monitoring.receivers,
    monitoring.routes,
    monitoring.monitoring_labels,
    monitoring.thresholds_used,
    monitoring.repair_alert,
    policies.policy_files,
    policies.cel_rules,
    policies.exceptions,
    secrets.stores,
    secrets.paths,
    secrets.bmc_credentials,
    secrets.literals,
)
ZONE_RULES = (networks.zone_size, addresses.gateway)
POOL_RULES = (
    pools.hardware,
    pools.size,
    pools.control_plane_size,
    versions.operating_system,
    rollouts.rollout_settings,
    rollouts.surge,
    rollouts.progress,
    rollouts.all_at_once,
    rollouts.health_settings,
    rollouts.startup,
    kubelet.images,
    kubelet.eviction,
    kubelet.memory,
    kubelet.processors,
    kubelet.labels,
    kubelet.taints,
    network_devices.device_names,
    network_devices.device_interfaces,
    network_devices.functions,
    network_devices.device_images,
)


def site_findings(site: Site, *, holes: bool = False) -> Iterator[Finding]:
    """Every finding of every rule on one site; ``holes``: the site may have some."""
    for site_rule in SITE_RULES:
        yield from attempt(site_rule(site), holes=holes)
    for index, zone in enumerate(getattr(site.file, "zones", ())):
        in_zone = InZone(site, index, zone)
        for zone_rule in ZONE_RULES:
            yield from attempt(zone_rule(in_zone), holes=holes)
    for index, pool in enumerate(getattr(site.file, "pools", ())):
        in_pool = InPool(site, index, pool)
        for pool_rule in POOL_RULES:
            yield from attempt(pool_rule(in_pool), holes=holes)


__all__ = [
    "POOL_RULES",
    "SITE_RULES",
    "ZONE_RULES",
    "Finding",
    "Footprint",
    "HostCell",
    "TextPlace",
    "attempt",
    "clashes",
    "footprint",
    "site_findings",
]
