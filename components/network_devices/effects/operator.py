"""Other configuration of the SR-IOV operator: its settings, its pace, and networks for pods.

Source: sriov-network-operator 1.6.0, controllers (sriovoperatorconfig_controller.go,
drain_controller_helper.go, generic_network_controller.go).
"""

from components.effects.applying import Applier, Kind, not_known, rules
from components.effects.placement import Fit
from components.effects.pods import restart
from components.effects.rules import Rule, harmless
from components.effects.vocabulary import Effects, Field, ObjectChange, SiteChange
from components.network_devices.effects.concerned import OPERATOR, sriov_pools, staying

SETTINGS = f"{OPERATOR}, controllers/sriovoperatorconfig_controller.go"
DRAINS = f"{OPERATOR}, controllers/drain_controller_helper.go"
NETWORKS = f"{OPERATOR}, controllers/generic_network_controller.go"
ATTACHED = "running pods keep their interfaces"


def settings_added(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """The operator starts its daemons on hosts with the label."""
    pools = sriov_pools(site.side)
    hosts = {name: Fit.YES for pool in pools for name in staying(site, pool)}
    why = "the operator's daemons start on hosts of pools that divide interfaces"
    yield from restart(site, change, field, (why, SETTINGS), hosts)


_UNKNOWN = not_known("the operator's daemons may come to hosts, leave or reboot them", SETTINGS)
_WEBHOOKS = harmless(
    "webhooks of the operator come or go, on no host's account; without them nothing refuses a "
    "wrong policy",
    SETTINGS,
)
_PACE = harmless("how many hosts are drained at a time, from now on; none is by that", DRAINS)
_NETWORK = harmless(f"{ATTACHED}; those made later get them so", NETWORKS)


def _networks(kind: str) -> Kind:
    return Kind(
        kind,
        harmless("pods that are made later may join it", NETWORKS),
        harmless(f"{ATTACHED}; those made later that name it do not start", NETWORKS),
        (("spec", _NETWORK),),
    )


KINDS = (
    Kind(
        "SriovOperatorConfig.sriovnetwork.openshift.io",
        settings_added,
        _UNKNOWN,
        (
            ("spec.configDaemonNodeSelector", _UNKNOWN),
            ("spec.configurationMode", _UNKNOWN),
            ("spec.disableDrain", _UNKNOWN),
            ("spec.enableInjector", _WEBHOOKS),
            ("spec.enableOperatorWebhook", _WEBHOOKS),
        ),
    ),
    Kind(
        "SriovNetworkPoolConfig.sriovnetwork.openshift.io",
        _PACE,
        harmless("hosts of all pools without one are drained one at a time", DRAINS),
        (("spec.maxUnavailable", _PACE), ("spec.nodeSelector", _PACE)),
    ),
    _networks("SriovNetwork.sriovnetwork.openshift.io"),
    _networks("SriovIBNetwork.sriovnetwork.openshift.io"),
)
RULES: list[Rule] = [rule for kind in KINDS for rule in rules(kind, Applier.PULUMI)]
