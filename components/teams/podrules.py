"""The limits of pods of teams: Pod Security's baseline (schemas/kubernetes/pod_security.py), and
the needs of RDMA beyond it."""

from components.making.told import Told
from components.teams.namespaces import RDMA_LABEL, Rdma
from schemas.kubernetes import pod_security

TOLD = Told(__file__)
_CONTAINERS = "variables.containers.filter(c, "
_PROBES = [f"{_CONTAINERS}has(c.{p})).map(c, c.{p})" for p in pod_security.PROBES] + [
    f"{_CONTAINERS}has(c.lifecycle) && has(c.lifecycle.{p})).map(c, c.lifecycle.{p})"
    for p in pod_security.HOOKS
]
VARIABLES = TOLD.table("variables", label=RDMA_LABEL, probes=" + ".join(_PROBES))
"""Variables of the rules, in this order."""


def _one_of(values: tuple[str, ...]) -> str:
    return f"[{', '.join(repr(each) for each in values)}]"


RULES = TOLD.rows(
    "rules",
    host_network=Rdma.HOST_NETWORK.value,
    capabilities=_one_of(pod_security.BASELINE_CAPABILITIES),
    apparmor=pod_security.APPARMOR,
    selinux_types=_one_of(("", *pod_security.SELINUX_TYPES)),
    sysctls=_one_of(pod_security.SYSCTLS),
)
"""The rules, in the order in which the API server asks them: CEL expressions that must hold, each
with what a person reads where it does not."""
