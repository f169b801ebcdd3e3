"""The site's cluster as a whole: its namespace, its endpoint and networks, and the guard of
versions."""

from collections.abc import Iterator

from components.effects.rules import Judge, Rule, harmless, path
from components.effects.vocabulary import (
    Action,
    Effect,
    FieldChange,
    Impact,
    ObjectChange,
    SiteChange,
)
from components.machines.effects import kinds
from components.machines.effects.anykind import (
    coming_and_going,
    metadata_rules,
    not_known,
    of_field,
    removal,
    removal_action,
)
from components.machines.effects.concerned import either, members

_PHASES = "Cluster API v1.13.6, internal/controllers/cluster/cluster_controller_phases.go"
_DELETION = "Cluster API v1.13.6, internal/controllers/cluster/cluster_controller.go"
_WEBHOOK = "Cluster API v1.13.6, internal/webhooks/cluster.go"
_BOOTSTRAP = (
    "Cluster API v1.13.6, bootstrap/kubeadm/internal/controllers/kubeadmconfig_controller.go"
)
_PROVIDER = "CAPM3 v1.13.2, controllers/metal3cluster_controller.go"
_NODES = "CAPM3 v1.13.2, controllers/metal3machine_controller.go"
_ZONES = "Cluster API v1.13.6, controlplane/kubeadm/internal/control_plane.go"
_GUARD = "components/machines/upgrade.py; Kubernetes v1.34, ValidatingAdmissionPolicy"


@of_field
def _endpoint(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterator[Effect]:
    """The Cluster took the endpoint over once; kube-vip alone would follow another one."""
    kept = (
        "the Cluster took its endpoint over when it was made, and keeps it, as do all "
        "certificates, kubeconfigs and nodes"
    )
    if not any(side.fleet.endpoint_announced for side in site.sides):
        why = f"{kept}; nothing follows the other one"
        yield Effect(Impact.NONE, change.name, field.path, why, _PHASES)
        return
    why = (
        f"{kept}; but kube-vip announces the other one as the control plane is replaced, and then "
        "nothing answers for the first: what becomes of the nodes is not known"
    )
    yield Effect(Impact.UNKNOWN, change.name, field.path, why, _PHASES, either(site, change))


def _holding(what: str, source: str, impact: Impact = Impact.REMOVE) -> Judge:
    """A judge of objects that hold the whole site; ``impact`` is what their going means."""

    def judge(
        site: SiteChange, change: ObjectChange, _field: FieldChange | None
    ) -> Iterator[Effect]:
        if change.before is None:
            why = "no host is affected: machines are made for the control plane and the pools"
            yield Effect(Impact.NONE, change.name, (), why, source, action=Action.ADDED)
            return
        action, hosts = removal_action(change), members(site.before, change)
        why = removal(action, what)
        yield Effect(impact, change.name, (), why, source, hosts, action=action)

    return judge


RULES = [
    *(
        rule
        for kind in ("Namespace", kinds.CLUSTER, kinds.METAL3_CLUSTER, *kinds.GUARDS)
        for rule in metadata_rules(kind)
    ),
    Rule(
        "Namespace",
        (),
        _holding(
            "with a namespace every BareMetalHost in it is deleted, which wipes them",
            "Kubernetes v1.34; BMO v0.13.2, internal/controller/metal3.io/host_state_machine.go",
        ),
        whole=True,
    ),
    Rule(
        kinds.CLUSTER,
        path("spec.clusterNetwork"),
        harmless(
            "read when the first machine runs kubeadm init: a running cluster keeps its networks "
            "and port, and so do machines that join it later",
            _BOOTSTRAP,
        ),
    ),
    *(
        Rule(
            kinds.CLUSTER,
            path(f"spec.clusterNetwork.{each}"),
            not_known(
                "it is read only when the first machine runs kubeadm init; Kubernetes cannot move "
                "a running cluster to other networks, and a pod network with the new networks does "
                "not find its nodes there; what becomes of pods is not known",
                _BOOTSTRAP,
            ),
        )
        for each in ("pods", "services")
    ),
    *(
        Rule(
            kinds.CLUSTER,
            path(f"spec.{each}"),
            not_known(
                "the webhook refuses only its removal; what another one does is not known", _WEBHOOK
            ),
        )
        for each in ("controlPlaneRef", "infrastructureRef")
    ),
    Rule(
        kinds.CLUSTER,
        (),
        _holding("with a Cluster all its Machines are deleted, and their hosts wiped", _DELETION),
        whole=True,
    ),
    Rule(kinds.METAL3_CLUSTER, path("spec.controlPlaneEndpoint"), _endpoint),
    Rule(
        kinds.METAL3_CLUSTER,
        path("spec.failureDomains"),
        harmless("where the next control plane machine is put; those that run stay", _ZONES),
    ),
    Rule(
        kinds.METAL3_CLUSTER,
        path("spec.cloudProviderEnabled"),
        harmless("how the node of a new machine is found; nodes that are there stay", _NODES),
    ),
    Rule(
        kinds.METAL3_CLUSTER,
        (),
        _holding(
            "it goes only when the site's last machine is gone; what becomes of machines until "
            "then is not known",
            _PROVIDER,
            Impact.UNKNOWN,
        ),
        whole=True,
    ),
    *(
        Rule(kind, path("spec"), harmless("says what is refused from now on", _GUARD))
        for kind in kinds.GUARDS
    ),
    *(
        Rule(
            kind,
            (),
            coming_and_going(
                "from now on workers are not taken ahead of the control plane",
                "from now on nothing keeps workers from being taken ahead of the control plane, "
                "which deletes machines and makes none; no machine changes now",
                _GUARD,
            ),
            whole=True,
        )
        for kind in kinds.GUARDS
    ),
]
"""The rules of what holds a site together."""
