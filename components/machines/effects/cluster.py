"""The site's cluster as a whole: its namespace, its endpoint and networks, and the guard of
versions."""

from collections.abc import Iterator

from components.effects import Action, Effect, FieldChange, Impact, ObjectChange, SiteChange
from components.effects.kubernetes import RULES as KUBERNETES
from components.effects.rules import Judge, Rule, find_whole, path
from components.machines.effects import kinds
from components.machines.effects.anykind import (
    metadata_rules,
    of_field,
    removal,
    removal_action,
    stated,
)
from components.machines.effects.concerned import either, members
from components.making.manifest import Target
from components.making.told import Told

TOLD = Told(__file__)
_PHASES = "Cluster API v1.13.6, internal/controllers/cluster/cluster_controller_phases.go"
_DELETION = "Cluster API v1.13.6, internal/controllers/cluster/cluster_controller.go"
_PROVIDER = "CAPM3 v1.13.2, controllers/metal3cluster_controller.go"


@of_field
def _endpoint(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterator[Effect]:
    """The Cluster took the endpoint over once; kube-vip alone would follow another one."""
    kept = TOLD.say("endpoint")
    if not any(side.fleet.endpoint_announced for side in site.sides):
        why = f"{kept}; nothing follows the other one"
        yield Effect(Impact.NONE, change.name, field.path, why, _PHASES)
        return
    why = TOLD.say("other_endpoint", kept=kept)
    yield Effect(Impact.UNKNOWN, change.name, field.path, why, _PHASES, either(site, change))


def _holding(what: str, source: str, impact: Impact = Impact.REMOVE) -> Judge:
    """A judge of objects that hold the whole site; ``impact`` is what their going means. One of the
    site's own cluster, such as the host agent's namespace, holds no host."""
    usual = find_whole(KUBERNETES, "Namespace")

    def judge(
        site: SiteChange, change: ObjectChange, _field: FieldChange | None
    ) -> Iterator[Effect]:
        if usual and change.one.target is Target.SITE:
            yield from usual.judge(site, change, None)
            return
        if change.before is None:
            why = "no host is affected: machines are made for the control plane and the pools"
            yield Effect(Impact.NONE, change.name, (), why, source, action=Action.ADDED)
            return
        action, hosts = removal_action(change), members(site.before, change)
        why = removal(action, what)
        yield Effect(impact, change.name, (), why, source, hosts, action=action)

    return judge


_WHOLE = {
    "Namespace": _holding(
        "with a namespace every BareMetalHost in it is deleted, which wipes them",
        "Kubernetes v1.34; BMO v0.13.2, internal/controller/metal3.io/host_state_machine.go",
    ),
    kinds.CLUSTER: _holding(
        "with a Cluster all its Machines are deleted, and their hosts wiped", _DELETION
    ),
    kinds.METAL3_CLUSTER: _holding(
        "it goes only when the site's last machine is gone; what becomes of machines until then is "
        "not known",
        _PROVIDER,
        Impact.UNKNOWN,
    ),
}
RULES = [
    *(rule for kind in (*_WHOLE, *kinds.GUARDS) for rule in metadata_rules(kind)),
    *(Rule(kind, (), judge, whole=True) for kind, judge in _WHOLE.items()),
    Rule(kinds.METAL3_CLUSTER, path("spec.controlPlaneEndpoint"), _endpoint),
    *stated(__file__),
]
"""The rules of what holds a site together."""
