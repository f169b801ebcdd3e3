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
    detectors,
    ends,
    gpuoperator,
    hardware,
    hosts,
    invalid,
    monitoring,
    network,
    networkdevices,
    nothing,
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

ROWS: tuple[Row, ...] = (
    *nothing.ROWS,
    *versions.ROWS,
    *boot.ROWS,
    *rollouts.ROWS,
    *hosts.ROWS,
    *hardware.ROWS,
    *pools.ROWS,
    *cluster.ROWS,
    *network.ROWS,
    *sites.ROWS,
    *ends.ROWS,
    *invalid.ROWS,
    *accelerators.ROWS,
    *asking.ROWS,
    *gpuoperator.ROWS,
    *networkdevices.ROWS,
    *scheduling.ROWS,
    *teams.ROWS,
    *cache.ROWS,
    *cachehosts.ROWS,
    *detectors.ROWS,
    *remediation.ROWS,
    *remediationsites.ROWS,
    *monitoring.ROWS,
    *policies.ROWS,
    *secrets.ROWS,
)
