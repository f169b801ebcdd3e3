"""BareMetalHosts: most of what one says is read when its host is next installed.

What a Machine has made of a host stays until the Machine goes: the Metal3 provider chooses a host
and renders its metadata once, and the Bare Metal Operator takes firmware mode and disk when it
provisions.
"""

from collections.abc import Iterable

from components.effects import ABSENT, Action, Effect, FieldChange, Impact, ObjectChange, SiteChange
from components.effects.applying import effect
from components.effects.fleet import OUT, Group
from components.effects.rules import Judge, narrow
from components.machines import names
from components.machines.effects import kinds
from components.machines.effects.anykind import machine_kinds, machine_rules, removal_action
from components.machines.effects.concerned import limit_below, number, value
from components.machines.effects.scale import DELETE_MACHINE, former_group, group_title, room
from components.machines.effects.workers import rolls_out
from components.making.told import Told

TOLD = Told(__file__)
KIND = kinds.HOST
HEALTH_CHECK = (names.COMPONENT, "MachineHealthCheck")
"""The component and the start of the logical name of a pool's health check."""
PROVIDER = "CAPM3 v1.13.2, baremetal/metal3machine_manager.go"
DATA = "CAPM3 v1.13.2, baremetal/metal3data_manager.go"
OPERATOR = "BMO v0.13.2, internal/controller/metal3.io"
STATES = f"{OPERATOR}/host_state_machine.go"
_ORDER = "Cluster API v1.13.6, internal/controllers/machineset/machineset_deletion_order.go"
_STATE = ("metadata", "labels", names.STATE_LABEL)
_NEXT = "the running machine keeps the former: {} when the host is installed next"


def pool(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterable[Effect]:
    """The host moves: its Machine is not told, and a Machine of the new pool waits for it."""
    why = "a label by which machines of the same group find hosts; read when one is made"
    yield _move_effect(site, change, field, why)


def zone(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterable[Effect]:
    """A move between zones is one between groups of machines only where a pool keeps them apart."""
    labels = ("metadata", "labels", names.POOL_LABEL)
    if value(change.before, *labels) == value(change.after, *labels):
        why = _NEXT.format("its node gets the label of the other zone")
        return [_move_effect(site, change, field, why)]
    why = "part of the host's move to another pool"
    return [effect(change, field, Impact.NONE, why, DATA, hosts=(change.one.key[3],))]


def _move_effect(site: SiteChange, change: ObjectChange, field: FieldChange, same: str) -> Effect:
    """The fate of a host that another group of machines finds from now on; ``same``: what it means
    in the same group. Nobody tells its Machine, which goes with its group, with the group's next
    rollout, or where the group is to have fewer (scale.py)."""
    host = change.one.key[3]
    sides = (site.before, site.after)
    old, new = (side.fleet.group_of_host.get(host) if side else None for side in sides)
    found = effect(change, field, Impact.NONE, same, DATA, hosts=(host,))
    if old is None or new is None or old.owner == new.owner:
        return found
    leaves, joins, found = group_title(old), group_title(new), found._replace(source=PROVIDER)
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


def added(site: SiteChange, change: ObjectChange, _field: None) -> Iterable[Effect]:
    """A host that is registered, and may take the place of another one."""
    host = change.one.key[3]
    why, impact = TOLD.say("new_out" if host in site.side.fleet.out else "new"), Impact.NONE
    if _replaces_line(site, host):
        why += TOLD.say("replaces")
        impact = Impact.ADD if _replaces_machines(site, host) else Impact.NONE
    yield effect(change, None, impact, why, STATES, hosts=(host,))


def was_out(_site: SiteChange, change: ObjectChange, _field: None) -> bool:
    """True if no Machine is lost with a host."""
    return bool(value(change.before, *_STATE) == OUT)


def forgotten(
    why: str, source: str, _site: SiteChange, change: ObjectChange, _field: None
) -> Iterable[Effect]:
    """A host that goes and has no Machine: no more is said of it, also where it is protected."""
    hosts, action = (change.one.key[3],), removal_action(change)
    yield effect(change, None, Impact.NONE, why, source, action, hosts=hosts)


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
    there = {*site.side.fleet.group_of_host, *site.side.fleet.out}
    return any(each.name not in there for each in former.hosts)


def state(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterable[Effect]:
    """A host goes out, or becomes a spare or none. One that comes back is made anew (_anew)."""
    host = change.one.key[3]
    found = effect(change, field, Impact.NONE, TOLD.say("spare"), PROVIDER, hosts=(host,))
    group = site.before.fleet.group_of_host.get(host) if site.before else None
    if field.after != OUT or group is None or site.after is None:
        yield found._replace(why=TOLD.say("stays_out")) if field.after == OUT else found
        return
    why = TOLD.say("goes_out", mark=DELETE_MACHINE)
    yield found._replace(impact=Impact.REMOVE, why=why, source=f"{_ORDER}; {PROVIDER}")
    out = [each.name for each in group.hosts if each.name in site.after.fleet.out]
    later = site.after.fleet.group_of_owner.get(group.owner, group)
    if host == out[0]:  # once for all of them
        yield from _filled(group, later, len(out), found)


def _filled(group: Group, later: Group, out: int, base: Effect) -> Iterable[Effect]:
    """The other hosts of a group some of whose hosts go ``out``: free ones get the Machines of
    those, and where a host that goes out had none, another loses its Machine."""
    free, fewer = len(group.hosts) - group.replicas, group.replicas - later.replicas
    mine = {each.name for each in group.hosts}
    names = tuple(each.name for each in later.hosts if free or each.name not in mine)
    if (more := min(out - max(0, fewer), len(names))) > 0:
        most = limit_below(names, more)
        why = TOLD.say("steps_in")
        yield base._replace(impact=Impact.ADD, why=why, hosts=names, at_most=most)
    stay = tuple(each.name for each in later.hosts if each.name in mine)
    if (lost := min(fewer, out) - max(0, out - free)) > 0 and stay:
        why = TOLD.say("out_was_free")
        yield base._replace(impact=Impact.REMOVE, why=why, source=_ORDER, hosts=stay, at_most=lost)


def _anew(
    judge: Judge, site: SiteChange, change: ObjectChange, field: FieldChange | None
) -> Iterable[Effect]:
    """A host that was out comes back: its object is another one, whatever it says."""
    states = [value(each, *_STATE) for each in change.both]
    if field is None or states[0] != OUT or states[1] == OUT:
        return judge(site, change, field)
    hosts, action = (change.one.key[3],), Action.REPLACED
    why = TOLD.say("anew")
    return [effect(change, field, Impact.NONE, why, STATES, action, hosts=hosts)]


_TABLE = machine_kinds(vars(names) | globals())
_FIRMWARE = [each for each in _TABLE.kinds if each.name != KIND]
RULES = [*narrow(machine_rules(_TABLE.kind(KIND)), {KIND: _anew}), *machine_rules(*_FIRMWARE)]
"""The rules of hosts."""
