"""The verdict on one site: rules applied to what differs, and what follows for each host."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from components.effects.fleet import Host
from components.effects.kubernetes import HOLDS_DATA
from components.effects.rules import judge_object
from components.effects.vocabulary import (
    Action,
    Effect,
    Impact,
    Name,
    ObjectChange,
    Path,
    SiteChange,
)
from components.machines.effects import kinds
from components.machines.hosts import GOING, is_out, lost_machines
from components.machines.installation import installations
from components.machines.rollout import capacity, plans
from components.making.manifest import Manifest, Target
from components.site import COMPONENTS
from components.source import site_of
from preview.differences import connections
from preview.result import Cause, Deletion, HostVerdict, ObjectVerdict, Reason, SitePreview, State
from preview.verdict import decommission
from preview.verdict.growth import growth
from preview.verdict.object_cache import cache, consequences
from preview.verdict.services import services
from schemas.facts.quotas import guaranteed_devices
from schemas.kubernetes.grouping import group_by_key
from schemas.kubernetes.node_labels import RACK_LABEL
from schemas.kubernetes.tables import read_table

_SHARED = read_table(__file__)


def judge(
    site: SiteChange, causes: Mapping[Name, tuple[Cause, ...]], owners: Mapping[str, str]
) -> SitePreview:
    """The verdict on a change to a site. ``causes`` are the edits behind each object that differs,
    ``owners`` whose BMC a host has that was another's."""
    effects = [*_effects(site, owners)]
    reasons = tuple(
        Reason(each, _object(site, each.name).title, causes.get(each.name, ())) for each in effects
    )
    rollouts = plans(site, effects)
    its = site_of(site.side)
    devices = {model: guaranteed_devices(its.scheduling, model) for model in its.models()}
    hosts = tuple(_hosts(site, effects))
    return SitePreview(
        name=site.name,
        state=decommission.state(site),
        hosts=hosts,
        reasons=reasons,
        objects=tuple(_objects(site, effects)),
        plans=rollouts,
        capacity=capacity(site, effects, rollouts) if site.after else (),
        deletions=tuple(_deletions(site, effects)),
        cache=cache(site, hosts, rollouts),
        consequences=tuple(consequences(site)),
        services=tuple(services(site)),
        growth=growth(site),
        guaranteed=tuple((model, number) for model, number in devices.items() if number),
        installations=tuple(installations(site)),
    )


def _effects(site: SiteChange, owners: Mapping[str, str]) -> Iterator[Effect]:
    if decommission.special(site):
        yield from decommission.effects(site)
    else:
        for change in site.changes.values():
            yield from judge_object(COMPONENTS[change.component].effects(), site, change)
    yield from connections.effects(site)
    # Hosts under another name: the object of the former name stays until a person deletes it.
    for host, owner in owners.items():
        name = ("machines", f"BareMetalHost/{host}")
        if name in site.changes:
            why = _SHARED["why"].format(owner)
            yield Effect(Impact.UNKNOWN, name, (), why, _SHARED["source"], (host,))


def _object(site: SiteChange, name: Name) -> Manifest:
    if name in site.changes:
        return site.changes[name].one
    there = (side.objects[name] for side in reversed(site.sides) if name in side.objects)
    # An adopted site has no Namespace of its own, which stands for all: then its Cluster does.
    return next(there, None) or next(iter(site.side.objects.values()))


def _hosts(site: SiteChange, effects: Sequence[Effect]) -> Iterator[HostVerdict]:
    """Each host of both sides once, with the worst that happens to it."""

    def order(index: int) -> tuple[int, bool, int]:
        effect = effects[index]
        # Of equals what is certain before what is so for some hosts only, and many before few.
        return -effect.impact.rank, effect.at_most is not None, -(effect.at_most or 0)

    worst_first = sorted(range(len(effects)), key=order)
    concerned = group_by_key((host, at) for at in worst_first for host in effects[at].hosts)
    listed: dict[str, Host] = {}
    limits: dict[tuple[Name, Path], int] = {}
    for side in reversed(site.sides):
        for each in side.fleet.hosts:
            listed.setdefault(each.name, each)
    for name, one in listed.items():
        mine = concerned.get(name, [])
        rack = dict(one.labels).get(RACK_LABEL, "")
        verdict = HostVerdict(name, one.pool, Impact.NONE, (), zone=one.zone, rack=rack)
        if not mine:
            yield verdict
            continue
        worst = effects[mine[0]]
        most = worst.at_most if worst.impact is not Impact.NONE else None
        verdict = verdict._replace(impact=worst.impact, reasons=tuple(mine), at_most=most)
        if worst.together is not None:
            limit = limits.setdefault((worst.name, worst.path), mine[0])
            verdict = verdict._replace(together=worst.together, limit=limit)
        less = (e for e in map(effects.__getitem__, mine) if _remains(e, worst))
        other = next(less, None) if most is not None else None
        if other:
            verdict = verdict._replace(rest=other.impact, rest_at_most=other.at_most)
        yield verdict


def _remains(less: Effect, worst: Effect) -> bool:
    """True if a lesser effect remains for hosts that the worst one spares. A host without a machine
    has no pods. Where the worst concerns as many machines as have pods, no host remains."""
    if less.impact.rank >= worst.impact.rank:
        return False
    pods = less.impact is Impact.POD_RESTART and less.at_most is not None
    every = pods and (worst.at_most or 0) >= (less.at_most or 0)
    return not (every and worst.impact is Impact.REIMAGE and set(less.hosts) <= set(worst.hosts))


def _objects(site: SiteChange, effects: Sequence[Effect]) -> Iterator[ObjectVerdict]:
    reasons = group_by_key((effect.name, index) for index, effect in enumerate(effects))
    for name, change in site.changes.items():
        mine = tuple(reasons.get(name, ()))
        stated = [action for i in mine if (action := effects[i].action) is not None]
        action = _action(change, stated) if site.after else Action.LEFT
        before, after = (side and side.bare() for side in change.both)
        # One object in place of two that are equal is sent, and kept, once.
        before = after if before == after else before
        yield ObjectVerdict(change._replace(before=before, after=after), action, mine)


def _action(change: ObjectChange, stated: Iterable[Action]) -> Action:
    """The action on an object: as a rule states it, or by its addition or removal."""
    stated = list(stated)
    if Action.REFUSED in stated:
        return Action.REFUSED
    if change.before is not None and change.after is not None:
        # What comes, goes or stays there is something inside it.
        stated = [each for each in stated if each is Action.REPLACED]
    if stated:
        return stated[0]
    if change.before is None:
        return Action.ADDED
    if change.after is None:
        return Action.LEFT if change.before.keep else Action.DELETED
    moved = change.before.key != change.after.key or change.before.target != change.after.target
    return Action.REPLACED if moved else Action.CHANGED


def _deletes(site: SiteChange, change: ObjectChange) -> bool:
    """True if an object goes that some cluster has; a cluster that nobody named has none."""
    if change.after is not None or site.before is None or site.after is None:
        return False
    named = site.before.fleet.context is not None
    return named or change.one.target is Target.MANAGEMENT


def _machines_lost(site: SiteChange, effects: Iterable[Effect]) -> int:
    """How many machines MachineDeployments lose, alternatives counted once; of one that goes all,
    though other objects may use their hosts again."""
    whole: dict[object, int] = {}
    for each in effects:
        change = site.changes.get(each.name)
        if change is None or change.before is None or change.group_kind != kinds.DEPLOYMENT:
            continue
        if change.after is None and each.impact in (Impact.REMOVE, Impact.REIMAGE):
            whole[each.name] = change.before.body["spec"]["replicas"]
        elif each.together is not None and each.impact in (Impact.REMOVE, Impact.REIMAGE):
            whole[each.name] = each.together
        elif each.impact is Impact.REMOVE:
            lost = len(each.hosts) if each.at_most is None else each.at_most
            whole[each.name, each.hosts] = max(lost, whole.get((each.name, each.hosts), 0))
    return sum(whole.values())


def _deletions(site: SiteChange, effects: Sequence[Effect]) -> Iterator[Deletion]:
    """The permanent losses of the change, which the pull request must acknowledge with a count; a
    host that leaves the list and its pool's surplus machine count once."""
    gone = {name: each for name, each in site.changes.items() if _deletes(site, each)}
    gone_hosts = (each.one.body for each in gone.values() if each.group_kind == kinds.HOST)
    hosts = sum(not is_out(body) for body in gone_hosts)
    if decommission.state(site) is State.DECOMMISSIONED:
        hosts = len(site.sides[0].fleet.hosts)
    machines = _machines_lost(site, effects)
    if hosts or machines:
        yield Deletion("hosts", max(hosts, machines))
    if site.before and site.after and site.after.fleet.out:
        bodies = ({name: m.body for name, m in side.objects.items()} for side in site.sides)
        if count := lost_machines(*bodies)[0]:
            yield Deletion(GOING, count)
    counted = (kinds.HOST, kinds.DEPLOYMENT)
    others = (each for each in gone.values() if each.group_kind not in counted)
    held = (e.kind for e in others if e.one.protect or e.group_kind in HOLDS_DATA)
    yield from (Deletion(kind, count) for kind, count in sorted(Counter(held).items()))
