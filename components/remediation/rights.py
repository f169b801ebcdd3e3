"""The rights of the fault remediation programs, on both clusters of a site."""

from components.making.admission import annotations_alone
from components.making.manifest import Json, Manifest, Target, by_kind
from components.making.rights import READ, role_and_binding, rule, subject
from components.making.rights import account as service_account
from components.remediation.names import (
    CONTROLLER,
    HISTORY_ANNOTATION,
    REBOOT_ANNOTATION,
    REBOOTS,
    TURNS,
    metadata,
    own,
    selector_labels,
    settings_of,
    shared_name,
)
from components.remediation.program import lease_rules
from schemas.facts.site import Site

NODEOPS = "nodeops.k8s.preferred.jp"
LEASE = "869fe74b.k8s.preferred.jp"
"""The controller's lease (node-operation-controller 0ac94deb, main.go)."""
ASKED_ANNOTATION = "reboot.metal3.io"
"""By it a BareMetalHost is asked for a reboot (baremetal-operator,
apis/metal3.io/v1alpha1/baremetalhost_types.go, RebootAnnotationPrefix)."""
_TEMPLATES = ("nodeoperationtemplates", "noderemediationtemplates")
_OWNERS = ("nodeoperations", "noderemediations", "noderemediationtemplates")
CONTROLLER_RULES = [
    # Its taint is an update of the node.
    rule("", ["nodes"], [*READ, "update"]),
    rule("", ["pods"], [*READ, "delete"]),
    rule("", ["pods/eviction"], ["create"]),
    rule("", ["events"], ["create", "patch"]),
    rule("batch", ["jobs"], READ),
    rule(NODEOPS, ["nodeoperations"], [*READ, "create", "update", "patch", "delete"]),
    rule(NODEOPS, ["noderemediations"], [*READ, "create", "update", "patch", "delete"]),
    rule(NODEOPS, ["noderemediations/status"], ["get", "update", "patch"]),
    rule(NODEOPS, ["nodedisruptionbudgets", *_TEMPLATES], READ),
    # Owners that block deletion, where the API server checks that (OwnerReferencesPermission...).
    rule(NODEOPS, [f"{kind}/finalizers" for kind in _OWNERS], ["update"]),
]
"""Less than upstream's role: no node is created or deleted, and Jobs are made in one namespace."""
CONTROLLER_OWN_RULES = [
    # With any account of the namespace: so no other account there may do more than these.
    rule("batch", ["jobs"], ["create"]),
    rule("coordination.k8s.io", ["leases"], ["create"]),
    rule("coordination.k8s.io", ["leases"], ["get", "update"], LEASE),
]
TURNS_RULES = [
    rule("", ["nodes"], ["get", "list", "patch"]),
    rule("", ["pods"], ["list"]),
    rule(NODEOPS, ["noderemediations", "nodeoperations"], ["get", "list"]),
]
REBOOTS_RULES = [rule("", ["nodes"], ["get", "patch"])]
# Whether the Job whose pod is ended is still there.
REBOOTS_OWN_RULES = [rule("batch", ["jobs"], ["get"])]
HOSTS_RULES = [rule("metal3.io", ["baremetalhosts"], ["get", "patch"])]


def rights(site: Site) -> list[Manifest]:
    """The accounts of the programs, and their roles."""
    return [
        *account(site, CONTROLLER, CONTROLLER_RULES, CONTROLLER_OWN_RULES),
        *account(site, TURNS, TURNS_RULES, _turns_own_rules(site)),
        *account(site, REBOOTS, REBOOTS_RULES, REBOOTS_OWN_RULES),
        *_management(site),
    ]


def _turns_own_rules(site: Site) -> list[Json]:
    """No ConfigMap but those that it makes is deleted: the detector's scripts run with all rights
    on every node, and to delete and create is to overwrite. Rights to create know no names."""
    # Of every pool: one that no remediator has any more may still be held.
    made = [f"turns-held-{pool.name}" for pool in site.file.pools]
    return [
        rule("", ["configmaps"], ["get", "list", "create"]),
        rule("", ["configmaps"], ["delete"], *made),
        *lease_rules(TURNS),
    ]


def account(
    site: Site, program: str, everywhere: list[Json], own_rules: list[Json]
) -> list[Manifest]:
    """The account of a program on the site's cluster, with rules there and in its namespace."""
    who = subject(program, settings_of(site).namespace)
    shared = metadata(site, shared_name(program), **selector_labels(program))
    bodies = [service_account(own(site, program))]
    bodies += role_and_binding("ClusterRole", shared, everywhere, who)
    if own_rules:
        bodies += role_and_binding("Role", own(site, program), own_rules, who)
    return by_kind(bodies, program)


def _management(site: Site) -> list[Manifest]:
    """The account by which hosts are rebooted, beside the site's BareMetalHosts.

    Its token is not made here: a kubeconfig with it is the site's own, in a Secret of its cluster.
    """
    names = metadata(site, REBOOTS, site.name, **selector_labels(REBOOTS))
    account: Json = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": names}
    who = subject(REBOOTS, site.name)
    bodies = [account, *role_and_binding("Role", names, HOSTS_RULES, who)]
    logical, there = f"{REBOOTS}/management", Target.MANAGEMENT
    # Who may change a host's spec, or ask for its inspection, can have it erased or hold it for
    # ever.
    only = annotations_alone(
        logical,
        metadata(site, f"foresite-{site.name}-{REBOOTS}", **selector_labels(REBOOTS)),
        (site.name, REBOOTS),
        {"metal3.io": ["baremetalhosts"]},
        (ASKED_ANNOTATION, REBOOT_ANNOTATION, HISTORY_ANNOTATION),
        there,
    )
    return [*by_kind(bodies, logical, there), *only]
