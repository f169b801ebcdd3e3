"""The proof table of the preview: what edits do to machines, written from upstream and the facts.

Each row names its source. Where the preview says otherwise, one of the two is wrong, and upstream
says which.
"""

from tests.verdicts import (
    accelerators,
    asking,
    boot,
    cache,
    cachehosts,
    cluster,
    controlplane,
    detectors,
    ends,
    etcdsnapshots,
    extra,
    gpuoperator,
    hardware,
    hostagent,
    hostnetworks,
    hosts,
    hostsettings,
    invalid,
    monitoring,
    network,
    networkdevices,
    nothing,
    nvlink,
    patches,
    policies,
    pools,
    remediation,
    remediationsites,
    rollouts,
    scheduling,
    secrets,
    sites,
    teams,
    versions,
)
from tests.verdicts.row import Row

MODULES = (
    nothing, versions, boot, rollouts, hosts, hostnetworks, hardware, hostsettings, hostagent,
    pools, patches, cluster, controlplane, network, sites, ends, etcdsnapshots, invalid,
    accelerators, asking, gpuoperator, nvlink, networkdevices, scheduling, teams, cache,
    cachehosts, detectors, remediation, remediationsites, monitoring, policies, extra, secrets,
)  # fmt: skip
"""The tables in the order in which they are shown."""
ROWS: tuple[Row, ...] = tuple(row for module in MODULES for row in module.ROWS)
