"""The rules of Kubernetes' own kinds, which any component may make, and of known pod networks'.

A kind without a rule is unknown, and so is a field without one: APIServices, Ingresses, autoscalers
and all else that no component makes. What rules say holds for Kubernetes 1.34 and for Pulumi at the
versions that the toolchain pins.
"""

from components.effects.access import ACCESS
from components.effects.applying import Applier, rules
from components.effects.configuration import CONFIGURATION
from components.effects.daemonsets import DAEMON_SET
from components.effects.networks import NETWORKS
from components.effects.resources import RESOURCES
from components.effects.rules import Rule
from components.effects.workloads import WORKLOADS
from schemas.kubernetes.tables import read_table

KINDS = (DAEMON_SET, *WORKLOADS, *CONFIGURATION, *ACCESS, *RESOURCES, *NETWORKS)

HOLDS_DATA = frozenset(read_table(__file__)["holds_data"])
"""Kinds whose deletion loses data, or objects of others: Git cannot bring them back. Not among
them: ConfigMaps, whose content is in Git, and Jobs, whose pods lose work and no stored data."""


def rules_for(applier: Applier) -> list[Rule]:
    """The rules for objects that an applier applies."""
    return rules(*KINDS, applier=applier)


RULES: list[Rule] = rules_for(Applier.PULUMI)
