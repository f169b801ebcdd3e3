"""The fast network: links by rail, their errors, and hosts with a fault of it."""

from components.making.promql import one_of
from components.making.told import Told
from components.making.watch import Board
from components.monitoring.dashboards.nodes import by_node
from schemas.facts.site import Site
from schemas.model.network_devices import Rdma, Sriov
from schemas.model.vocabulary import LinkType

TOLD = Told(__file__)
FAULTS = {"network-link-down", "network-link-errors", "fabric-down"}
"""Those that the detector sees of it."""


def fabric(site: Site) -> list[Board]:
    """The dashboard of links by rail (node_exporter); none where pods ask for no network device."""
    devices = [pool.network_devices for pool in site.file.pools]
    of = {link: set[str]() for link in LinkType}
    resources: list[Rdma | Sriov] = [each for found in devices for each in found.rdma]
    resources += [each for found in devices for each in found.sriov]
    for each in resources:
        of[each.link] |= set(each.interfaces)
    panels = []
    for name, rails in (("ethernet", of[LinkType.ETHERNET]), ("links", set().union(*of.values()))):
        if rails:
            asked = f'device=~"{one_of(sorted(rails))}"'
            panels += TOLD.panels(name, **by_node(site, TOLD, "link", asked))
    if not panels:
        return []
    if any(found.rails() for found in devices):
        panels += TOLD.panels("ports", **by_node(site, TOLD, "port"))
    seen = {f"{fault}" for pool in site.file.pools for fault in site.faults(pool)} & FAULTS
    if seen:
        panels += TOLD.panels("faults", kinds=one_of(sorted(seen)))
    return [TOLD.board(panels)]
