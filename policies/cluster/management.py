"""Rules of management clusters: what is deleted there is machines and their disks."""

from policies.cluster.rule import (
    MANAGEMENT,
    RELEASE_ANNOTATION,
    ClusterRule,
    Facts,
    Json,
    Matched,
    Validation,
)

_SURVIVAL = (
    "Kubernetes 1.34, foreground and background deletion; Cluster API 1.13, internal/controllers/"
    "cluster/cluster_controller.go (reconcileDelete); UniSuper, 2024: an account was deleted whole"
)
_RELEASED = {
    "released": (
        f"oldObject.metadata.?annotations[?'{RELEASE_ANNOTATION}'].orValue('') != ''"
        " || has(oldObject.metadata.deletionTimestamp)"
        " || (namespaceObject != null && (has(namespaceObject.metadata.deletionTimestamp)"
        f" || namespaceObject.metadata.?annotations[?'{RELEASE_ANNOTATION}'].orValue('') != ''))"
    )
}
_HOW = f"; if it is meant, annotate it first: {RELEASE_ANNOTATION}=REASON"


def _of_site(facts: Facts) -> Json:
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": facts.site}}}


def _site_deletion(facts: Facts) -> ClusterRule:
    return ClusterRule(
        name="site-deletion",
        cluster=MANAGEMENT,
        what="Nobody deletes a site's Namespace or Cluster that was not released before",
        why="everything of the site goes with them, and every host is wiped",
        source=_SURVIVAL,
        matches=(
            Matched("", ("namespaces",), ("DELETE",)),
            Matched("cluster.x-k8s.io", ("clusters",), ("DELETE",), ("*",)),
        ),
        variables=_RELEASED,
        validations=(
            Validation(
                "variables.released",
                "'every machine of the site goes with ' + request.kind.kind + ' '"
                f" + oldObject.metadata.name + '{_HOW}'",
            ),
        ),
        where=_of_site(facts),
    )


def _machine_deletion(facts: Facts) -> ClusterRule:
    # Cluster API itself deletes these when their Cluster goes; a parameter that is not found lets
    # all pass, so nothing is held back that a Cluster left behind.
    kind = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster"}
    ref = {"name": facts.site, "namespace": facts.site, "parameterNotFoundAction": "Allow"}
    return ClusterRule(
        name="machine-deletion",
        cluster=MANAGEMENT,
        what="Nobody deletes the control plane, a pool with machines, or a site's network",
        why="their machines are deleted with them, or can never be made again as they were",
        source=_SURVIVAL,
        matches=(
            Matched("cluster.x-k8s.io", ("machinedeployments",), ("DELETE",), ("*",)),
            Matched(
                "controlplane.cluster.x-k8s.io", ("kubeadmcontrolplanes",), ("DELETE",), ("*",)
            ),
            Matched("infrastructure.cluster.x-k8s.io", ("metal3clusters",), ("DELETE",), ("*",)),
            Matched("ipam.metal3.io", ("ippools",), ("DELETE",), ("*",)),
        ),
        variables=_RELEASED
        | {
            # A pool that was emptied in order loses nothing.
            "empty": (
                "request.kind.kind == 'MachineDeployment'"
                " && oldObject.spec.?replicas.orValue(1) == 0"
                " && oldObject.?status.?replicas.orValue(0) == 0"
            )
        },
        validations=(
            Validation(
                "variables.released || variables.empty || has(params.metadata.deletionTimestamp)",
                "request.kind.kind + ' ' + oldObject.metadata.name + ' is in use"
                " (a MachineDeployment is not when it is scaled to 0 and its machines are gone)"
                f"{_HOW}'",
            ),
        ),
        where=_of_site(facts),
        params=(kind, ref),
    )


def _host_deletion(facts: Facts) -> ClusterRule:
    return ClusterRule(
        name="host-deletion",
        cluster=MANAGEMENT,
        what="Nobody deletes the BareMetalHost of a machine",
        why="the host is wiped without a drain, under whatever runs there",
        source="Metal3, baremetal-operator docs/baremetalhost-states.md (deleting); CAPM3 1.13, "
        "baremetal/metal3machine_manager.go (consumerRef)",
        matches=(Matched("metal3.io", ("baremetalhosts",), ("DELETE",), ("*",)),),
        variables=_RELEASED,
        validations=(
            Validation(
                "!has(oldObject.spec.consumerRef) || variables.released",
                "'host ' + oldObject.metadata.name + ' still runs machine '"
                " + oldObject.spec.consumerRef.?name.orValue('') + ', and would be wiped without a"
                f" drain: delete its machine first{_HOW}'",
            ),
        ),
        where=_of_site(facts),
    )


def management_rules(facts: Facts) -> tuple[ClusterRule, ...]:
    """The rules of a site's management cluster."""
    return (_site_deletion(facts), _machine_deletion(facts), _host_deletion(facts))
