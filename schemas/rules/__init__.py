"""Rules between fields: each looks at a site, or at one zone or pool of it, and yields findings.

None raises and none stops another: where a file has faults its data has holes, and a rule that
looks into one ends there (``attempt``). ``site_findings`` runs all rules of one site, ``clashes``
those between sites.
"""

from collections.abc import Iterator

from schemas.facts.site import Site
from schemas.rules import (
    accelerators,
    addresses,
    files,
    hosts,
    identity,
    kubelet,
    monitoring,
    namespaces,
    networks,
    policies,
    pools,
    remediation,
    rollouts,
    schedulers,
    secrets,
    teams,
    versions,
)
from schemas.rules import accelerators_programs as programs
from schemas.rules import accelerators_requests as serving
from schemas.rules import network_devices as networkdevices
from schemas.rules import object_cache as cache
from schemas.rules import object_cache_endpoints as cachereach
from schemas.rules import object_cache_server as cacheserver
from schemas.rules import remediation_detector as detection
from schemas.rules import remediation_repairs as repairs
from schemas.rules import teams_quotas as promises
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
    accelerators.known,
    accelerators.prefix,
    accelerators.resources,
    accelerators.images,
    programs.program_settings,
    serving.ways,
    serving.expressions,
    serving.volcano,
    serving.gpu_operator,
    serving.operated_resources,
    serving.operated_runtime,
    schedulers.backend_names,
    schedulers.backend_pools,
    schedulers.backends_of_models,
    schedulers.backend_kinds,
    schedulers.plugins,
    schedulers.gang_times,
    schedulers.canaries,
    schedulers.replicas,
    networkdevices.prefix,
    networkdevices.device_resources,
    networkdevices.pools_agree,
    networkdevices.addresses,
    teams.tiers,
    teams.team_names,
    namespaces.one_owner,
    teams.team_priorities,
    teams.storage,
    promises.limited_models,
    promises.off_peak_hours,
    promises.off_peak_used,
    promises.limits_held,
    promises.overcommitted,
    promises.off_peak_there,
    cache.sizes,
    cache.quotas,
    cache.capacity,
    cache.table,
    cache.buckets,
    cache.bucket_namespaces,
    cache.keeping_pools,
    cachereach.address,
    cachereach.audience,
    cachereach.discovery,
    cachereach.bucket_file,
    cachereach.image_layers,
    cacheserver.server_port,
    cacheserver.server_environment,
    cacheserver.proxy_port,
    cacheserver.data_path,
    cacheserver.config_path,
    cacheserver.proxy_image,
    cacheserver.program_sizes,
    remediation.healer_names,
    remediation.healer_pools,
    remediation.healer_faults,
    remediation.mendable,
    remediation.one_healer,
    remediation.budgets,
    remediation.evictions,
    remediation.settings_used,
    repairs.last_resort,
    repairs.window,
    repairs.found_in_time,
    repairs.remediation_images,
    detection.detected_disks,
    detection.xids,
    detection.device_taints,
    detection.health_commands,
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
    secrets.taken,
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
    networkdevices.device_names,
    networkdevices.device_interfaces,
    networkdevices.functions,
    networkdevices.device_images,
)


def site_findings(site: Site, *, holes: bool = False) -> Iterator[Finding]:
    """Every finding of every rule on one site; ``holes``: the site may have some."""
    for site_rule in SITE_RULES:
        yield from attempt(site_rule(site), holes=holes)
    for index, zone in enumerate(getattr(site.file, "zones", ())):
        for zone_rule in ZONE_RULES:
            yield from attempt(zone_rule(InZone(site, index, zone)), holes=holes)
    for index, pool in enumerate(getattr(site.file, "pools", ())):
        for pool_rule in POOL_RULES:
            yield from attempt(pool_rule(InPool(site, index, pool)), holes=holes)


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
