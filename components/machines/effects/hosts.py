"""BareMetalHosts: most of what one says is read when its host is next installed.

What a Machine has made of a host stays until the Machine goes: the Metal3 provider chooses a host
and renders its metadata once, and the Bare Metal Operator takes firmware mode and disk when it
provisions.
"""

from collections.abc import Iterable, Iterator

from components.effects.rules import Judge, Rule, path
from components.effects.vocabulary import (
    Action,
    Effect,
    FieldChange,
    Impact,
    ObjectChange,
    Side,
    SiteChange,
)
from components.machines.effects import kinds
from components.machines.effects.anykind import metadata_rules, of_field, removal, removal_action
from components.machines.effects.concerned import groups_named, hosts_in, many, value
from components.machines.effects.scale import DELETE_MACHINE
from components.machines.effects.workers import ROLLING_FIELDS
from components.machines.names import (
    BOOT_MAC_ANNOTATION,
    FAILURE_DOMAIN_LABEL,
    POOL_LABEL,
    RACK_LABEL,
    SERIAL_ANNOTATION,
    ZONE_LABEL,
)

KIND = kinds.HOST
_PROVIDER = "CAPM3 v1.13.2, baremetal/metal3machine_manager.go"
_DATA = "CAPM3 v1.13.2, baremetal/metal3data_manager.go"
_OPERATOR = "BMO v0.13.2, internal/controller/metal3.io"
_STATES = f"{_OPERATOR}/host_state_machine.go"
_SETTINGS = f"{_OPERATOR}/baremetalhost_controller.go"
_REGISTER = "BMO v0.13.2, pkg/provisioner/ironic/register.go"
_WEBHOOK = "BMO v0.13.2, internal/webhooks/metal3.io/v1alpha1/baremetalhost_validation.go"
_NEXT = "the running machine keeps the former: {} when the host is installed next"


def _harmless(why: str, source: str, action: Action | None = None) -> Judge:
    """A judge of a field that concerns the host, and does nothing to it now."""

    def judge(
        _site: SiteChange, change: ObjectChange, field: FieldChange | None
    ) -> Iterable[Effect]:
        at, hosts = field.path if field else (), (change.one.key[3],)
        yield Effect(Impact.NONE, change.name, at, why, source, hosts, action=action)

    return judge


@of_field
def _pool(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterator[Effect]:
    """The host moves: its Machine is not told, and a Machine of the new pool waits for it."""
    groups = (
        groups_named(site.before, str(field.before)),
        groups_named(site.after, str(field.after)),
    )
    if all(each and each[0].control_plane for each in groups):
        why = "a label by which control plane machines find hosts; read when one is made"
        yield Effect(Impact.NONE, change.name, field.path, why, _PROVIDER, (change.one.key[3],))
        return
    yield _move_effect(site, change, field, (str(field.before), ""), (str(field.after), ""))


@of_field
def _zone(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterator[Effect]:
    """A move between zones is one between groups of machines only where a pool keeps them apart."""
    labels = ("metadata", "labels", POOL_LABEL)
    before, after = value(change.before, *labels), value(change.after, *labels)
    groups = groups_named(site.before, str(before)), groups_named(site.after, str(after))
    if before == after and all(each and each[0].zone for each in groups):
        zones = (str(before), str(field.before)), (str(after), str(field.after))
        yield _move_effect(site, change, field, *zones)
        return
    why = _NEXT.format("its node gets the label of the other zone")
    yield Effect(Impact.NONE, change.name, field.path, why, _DATA, (change.one.key[3],))


Group = tuple[str, str]
"""A pool, and a zone of it or "" for all."""


def _move_effect(
    site: SiteChange, change: ObjectChange, field: FieldChange, old: Group, new: Group
) -> Effect:
    """The fate of a host that another group of machines finds from now on.

    Nobody tells its Machine. It goes if the group that it leaves is to have fewer; whether another
    comes depends on the group that it joins waiting for a host.
    """
    leaves, joins = _group_name(old), _group_name(new)
    hosts = (change.one.key[3],)
    if _rolls_out(site, change, old):
        why = (
            f"{leaves} is replaced, and with it the Machine that this host still has of it; then "
            f"the host is wiped, and serves {joins} if that lacks one"
        )
        return Effect(Impact.REMOVE, change.name, field.path, why, _PROVIDER, hosts, 1)
    if _replicas(site.after, old) >= _replicas(site.before, old):
        why = (
            f"the host keeps its Machine of {leaves}, which is to have as many as before, until "
            f"something else deletes it; from then on {joins} finds it, and {leaves} lacks a host"
        )
        return Effect(Impact.NONE, change.name, field.path, why, _PROVIDER, hosts)
    chosen = (
        f"Which Machine {leaves} gives up is Cluster API's choice: mark this host's with "
        f"{DELETE_MACHINE} before"
    )
    free = len(hosts_in(site.before, *new)) - _replicas(site.before, new)
    if free > 0:
        why = (
            f"the host keeps its Machine of {leaves} until that is deleted, and is wiped then; "
            f"{joins} has {many(free, 'free host')}, which its new Machine takes at once, so this "
            f"one may stay without a machine. {chosen}"
        )
        return Effect(Impact.REMOVE, change.name, field.path, why, _PROVIDER, hosts, 1)
    why = (
        f"the host keeps its Machine of {leaves} until that is deleted, and {joins} waits for it; "
        f"then it is wiped and installed for {joins}. {chosen}"
    )
    return Effect(Impact.REIMAGE, change.name, field.path, why, _PROVIDER, hosts)


def _group_name(group: Group) -> str:
    return f"{group[0]} in zone {group[1]}" if group[1] else f"pool {group[0]}"


def _rolls_out(site: SiteChange, change: ObjectChange, group: Group) -> bool:
    """True if the machines of the group that a host leaves are replaced in the same change."""
    zone = value(change.before, "metadata", "labels", ZONE_LABEL)
    groups = (each for each in groups_named(site.before, group[0]) if each.zone in ("", zone))
    found = (site.changes.get(each.owner) for each in groups)
    fields = (field.path for each in found if each for field in each.fields)
    return any(at[: len(rolling)] == rolling for at in fields for rolling in ROLLING_FIELDS)


def _replicas(side: Side | None, group: Group) -> int:
    """How many machines a group is to have; 0 where it is not there."""
    return side.fleet.replicas(*group) if side else 0


def _whole(_site: SiteChange, change: ObjectChange, _field: FieldChange | None) -> Iterator[Effect]:
    hosts = (change.one.key[3],)
    if change.before is None:
        why = (
            "a new host: it is powered on for an inspection, whatever runs on it, and is wiped and "
            "installed when a Machine of its pool takes it"
        )
        yield Effect(Impact.ADD, change.name, (), why, _STATES, hosts, action=Action.ADDED)
        return
    action = removal_action(change)
    what = (
        "deleting a BareMetalHost wipes and powers off the host without a drain; its Machine stays "
        "behind without a host, and counts, until someone deletes it"
    )
    source = f"{_STATES}; {_PROVIDER}"
    why = removal(action, what)
    yield Effect(Impact.REMOVE, change.name, (), why, source, hosts, action=action)


RULES = [
    Rule(KIND, ("metadata", "labels", POOL_LABEL), _pool),
    Rule(KIND, ("metadata", "labels", ZONE_LABEL), _zone),
    Rule(
        KIND,
        ("metadata", "labels", RACK_LABEL),
        _harmless(_NEXT.format("its node gets the label of the other rack"), _DATA),
    ),
    Rule(
        KIND,
        ("metadata", "labels", FAILURE_DOMAIN_LABEL),
        _harmless("only preferred when a Machine chooses a host; a running one stays", _PROVIDER),
    ),
    Rule(
        KIND,
        ("metadata", "annotations", BOOT_MAC_ANNOTATION),
        _harmless(_NEXT.format("the other NIC gets the address"), _DATA),
    ),
    Rule(
        KIND,
        ("metadata", "annotations", SERIAL_ANNOTATION),
        _harmless("for people to find the host by; no controller reads it", "foresite"),
    ),
    *metadata_rules(KIND),
    Rule(
        KIND,
        path("spec.bmc.address"),
        _harmless(
            "the webhook refuses another BMC address of a host that is registered: detach it first "
            "(annotation baremetalhost.metal3.io/detached); its machine goes on",
            _WEBHOOK,
            Action.REFUSED,
        ),
    ),
    Rule(
        KIND,
        path("spec.bmc.credentialsName"),
        _harmless(
            "the Bare Metal Operator logs in to the BMC again, and the machine continues; if that "
            "fails, the host is not power-cycled or chosen for a Machine until it is corrected",
            f"{_REGISTER}; {_SETTINGS}",
        ),
    ),
    Rule(
        KIND,
        path("spec.bmc.disableCertificateVerification"),
        _harmless(
            "handed on only together with other credentials or another BMC address, or when the "
            "host is registered anew",
            _REGISTER,
        ),
    ),
    Rule(
        KIND,
        path("spec.bootMACAddress"),
        _harmless(
            "the webhook refuses another bootMACAddress for good: the way is to remove the host "
            "and add it again, which wipes it",
            _WEBHOOK,
            Action.REFUSED,
        ),
    ),
    Rule(
        KIND,
        path("spec.bootMode"),
        _harmless(_NEXT.format("it boots in the other mode"), _STATES),
    ),
    Rule(
        KIND,
        path("spec.rootDeviceHints"),
        _harmless(
            _NEXT.format("the other disk is taken") + "; a free host is prepared anew, without "
            "power-cycling it",
            f"{_SETTINGS}; BMO v0.13.2, pkg/provisioner/ironic/ironic.go",
        ),
    ),
    *(
        Rule(
            KIND,
            path(f"spec.{each}"),
            _harmless("the Metal3 provider's once the host is there: Pulumi ignores it", _PROVIDER),
        )
        for each in ("online", "automatedCleaningMode")
    ),
    Rule(KIND, (), _whole, whole=True),
]
"""The rules of hosts."""
