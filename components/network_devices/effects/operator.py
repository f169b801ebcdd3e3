"""Other configuration of the SR-IOV operator (1.6.0, controllers/sriovoperatorconfig_controller.go,
drain_controller_helper.go, generic_network_controller.go): settings, pace, networks for pods."""

from components.effects import Effects, Field, ObjectChange, SiteChange
from components.effects.applying import rules
from components.effects.placement import Fit
from components.effects.pods import restart
from components.effects.table import read_kinds
from components.network_devices.effects.concerned import OPERATOR, sriov_pools, staying

SETTINGS = f"{OPERATOR}, controllers/sriovoperatorconfig_controller.go"


def settings_added(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """The operator starts its daemons on hosts with the label."""
    pools = sriov_pools(site.side)
    hosts = {name: Fit.YES for pool in pools for name in staying(site, pool)}
    why = "the operator's daemons start on hosts of pools that divide interfaces"
    yield from restart(site, change, field, (why, SETTINGS), hosts)


RULES = rules(*read_kinds(globals()).kinds)
