"""BareMetalHosts: most of what one says is read when its host is next installed.

What a Machine has made of a host stays until the Machine goes: the Metal3 provider chooses a host
and renders its metadata once, and the Bare Metal Operator takes firmware mode and disk when it
provisions.
"""

from collections.abc import Iterator

from components.effects import ABSENT, Action, Effect, FieldChange, Impact, ObjectChange, SiteChange
from components.effects.rules import Rule
from components.machines import names
from components.machines.effects import kinds
from components.machines.effects.anykind import (
    metadata_rules,
    of_field,
    removal,
    removal_action,
    stated,
)
from components.machines.effects.concerned import number, value
from components.machines.effects.scale import DELETE_MACHINE, former_group, group_title, room
from components.machines.effects.workers import rolls_out
from components.making.told import Told

TOLD = Told(__file__)
KIND = kinds.HOST
HEALTH_CHECK = (names.COMPONENT, "MachineHealthCheck")
"""The component and the start of the logical name of a pool's health check."""
_PROVIDER = "CAPM3 v1.13.2, baremetal/metal3machine_manager.go"
_DATA = "CAPM3 v1.13.2, baremetal/metal3data_manager.go"
_OPERATOR = "BMO v0.13.2, internal/controller/metal3.io"
_STATES = f"{_OPERATOR}/host_state_machine.go"
_NEXT = "the running machine keeps the former: {} when the host is installed next"


@of_field
def _pool(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterator[Effect]:
    """The host moves: its Machine is not told, and a Machine of the new pool waits for it."""
    why = "a label by which machines of the same group find hosts; read when one is made"
    yield _move_effect(site, change, field, why)


@of_field
def _zone(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterator[Effect]:
    """A move between zones is one between groups of machines only where a pool keeps them apart."""
    labels = ("metadata", "labels", names.POOL_LABEL)
    if value(change.before, *labels) == value(change.after, *labels):
        why = _NEXT.format("its node gets the label of the other zone")
        yield _move_effect(site, change, field, why)
        return
    why = "part of the host's move to another pool"
    yield Effect(Impact.NONE, change.name, field.path, why, _DATA, (change.one.key[3],))


def _move_effect(site: SiteChange, change: ObjectChange, field: FieldChange, same: str) -> Effect:
    """The fate of a host that another group of machines finds from now on; ``same``: what it means
    where that is the same group.

    Nobody tells its Machine, which goes with its group, or with the group's next rollout, or where
    the group is to have fewer (scale.py).
    """
    host = change.one.key[3]
    sides = (site.before, site.after)
    old, new = (side.fleet.group_of_host.get(host) if side else None for side in sides)
    found = Effect(Impact.NONE, change.name, field.path, same, _DATA, (host,))
    if old is None or new is None or old.owner == new.owner:
        return found
    leaves, joins, found = group_title(old), group_title(new), found._replace(source=_PROVIDER)
    owner = site.after.objects.get(old.owner) if site.after else None
    if owner is None:
        return found._replace(why=f"its Machine goes with {leaves}; then {joins} finds the host")
    if rolls_out(site.changes.get(old.owner)):
        waits = room(site, new).waiting
        then = f"installed for {joins}" if waits else f"serves {joins} if that lacks one"
        why = f"{leaves} is replaced, and with it the Machine of this host; it is wiped, and {then}"
        spare = 1 if len(old.hosts) > old.replicas else None
        impact = Impact.REIMAGE if waits else Impact.REMOVE
        return found._replace(impact=impact, why=why, at_most=spare)
    name = "keeps" if number(owner, "spec", "replicas") >= old.replicas else "given_up"
    return found._replace(why=TOLD.say(name, leaves=leaves, joins=joins, mark=DELETE_MACHINE))


def _whole(site: SiteChange, change: ObjectChange, _field: FieldChange | None) -> Iterator[Effect]:
    hosts = (change.one.key[3],)
    if change.before is None:
        why = TOLD.say("new")
        replaces, impact = _replaces_line(site, hosts[0]), Impact.NONE
        if replaces:
            why += TOLD.say("replaces")
            impact = Impact.ADD if _replaces_machines(site, hosts[0]) else Impact.NONE
        yield Effect(impact, change.name, (), why, _STATES, hosts, action=Action.ADDED)
        return
    action, source = removal_action(change), f"{_STATES}; {_PROVIDER}"
    why = removal(action, TOLD.say("deleted"))
    yield Effect(Impact.REMOVE, change.name, (), why, source, hosts, action=action)


def _replaces_machines(site: SiteChange, host: str) -> bool:
    """True if the health check of a host's pool deletes Machines that have failed."""
    name = (HEALTH_CHECK[0], f"{HEALTH_CHECK[1]}/{site.side.fleet.group_of_host[host].pool}")
    check = site.side.objects.get(name)
    return check is not None and value(check, "spec", "remediation", "templateRef") is ABSENT


def _replaces_line(site: SiteChange, host: str) -> bool:
    """True if a new host comes to a group from whose lines as many go."""
    group = site.side.fleet.group_of_host.get(host)
    former = former_group(site, group.owner) if group else None
    if group is None or former is None or group.replicas > former.replicas:
        return False
    return any(each.name not in site.side.fleet.group_of_host for each in former.hosts)


RULES = [
    Rule(KIND, ("metadata", "labels", names.POOL_LABEL), _pool),
    Rule(KIND, ("metadata", "labels", names.ZONE_LABEL), _zone),
    *(rule for each in (KIND, *kinds.FIRMWARE) for rule in metadata_rules(each)),
    *stated(
        __file__,
        rack=names.RACK_LABEL,
        failure_domain=names.FAILURE_DOMAIN_LABEL,
        boot_mac=names.BOOT_MAC_ANNOTATION,
        serial=names.SERIAL_ANNOTATION,
        data=_DATA,
        provider=_PROVIDER,
        states=_STATES,
        firmware=f"{_OPERATOR}/baremetalhost_controller.go, doServiceIfNeeded",
        settings=f"{_OPERATOR}/baremetalhost_controller.go",
    ),
    Rule(KIND, (), _whole, whole=True),
]
"""The rules of hosts."""
