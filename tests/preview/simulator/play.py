"""A change of a site's objects, played on the controllers with several seeds."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.preview.simulator.controllers import (
    INSPECT,
    Chance,
    associate,
    control,
    delete,
    plan,
    sync,
    tick,
)
from tests.preview.simulator.world import (
    Bodies,
    Body,
    Group,
    Host,
    Machine,
    World,
    bare_metal,
    control_plane,
    deployments,
    refused_deployments,
    refused_hosts,
)

SEEDS = 12
"""The first eight are the extremes of who is taken first; the others are random."""
MOST_STEPS = 2000


@dataclass
class Figures:
    """A MachineDeployment (or the control plane) in one play, in Machines.

    ``first`` and ``target`` are the replicas before and after; ``down`` of the first ones go, and
    ``up`` new ones come; ``dead`` lost their host; ``at_once`` are at most in work; ``least`` are
    at least available; ``waits`` are not there in the end.
    """

    first: int = 0
    target: int = 0
    down: int = 0
    dead: int = 0
    up: int = 0
    at_once: int = 0
    least: int = 0
    waits: int = 0


@dataclass
class Play:
    """One play: the outcome of each host, figures by MachineDeployment with the hosts that it had,
    and the hosts that run at each step."""

    before: set[str]
    there: set[str]
    ran: set[str]
    owners: dict[str, set[str]]
    hosts: dict[str, str] = field(default_factory=dict)
    figures: dict[str, Figures] = field(default_factory=dict)
    running: list[frozenset[str]] = field(default_factory=list)


def play(base: Bodies, head: Bodies, seeds: Sequence[int] = range(SEEDS)) -> list[Play]:
    """All plays of the change from ``base`` to ``head``; a few where no Machine has a reason to
    change, as then only the free hosts are left to chance."""
    if _asked(base) == _asked(head):
        seeds = seeds[:: len(seeds) // 3]
    return [_play(base, head, seed) for seed in seeds]


def _asked(objects: Bodies) -> object:
    hosts = {name: body["metadata"]["labels"] for name, body in bare_metal(objects).items()}
    return control_plane(objects), deployments(objects), hosts


def _play(base: Bodies, head: Bodies, seed: int) -> Play:
    before, after = bare_metal(base), bare_metal(head)
    refused = refused_hosts(base, head)
    special = {
        name for name in before.keys() | after if _labels(before, name) != _labels(after, name)
    }
    chance = Chance(seed, special)
    world = start(base, chance)
    first = Counter(each.owner for each in world.machines)
    owners = {name: {each.host.name for each in world.owned(name) if each.host} for name in first}
    found = Play(set(before), set(after), set().union(*owners.values()), owners)
    _apply(world, base, head, refused, chance)
    names = {*first, *world.deployments, world.control.name}
    stay = {
        name: world.deployments[name] for name in deployments(head) if name in world.deployments
    }
    targets = {world.control.name: world.control.replicas}
    targets |= {name: each.replicas for name, each in stay.items()}
    found.figures = {
        name: Figures(first[name], targets.get(name, 0), least=first[name]) for name in names
    }
    changed, removed, step = True, False, 0
    while changed:
        changed = tick(world)
        for wanted in world.deployments.values():
            changed |= plan(world, wanted)
        changed |= sync(world, chance)
        changed |= control(world, chance)
        changed |= associate(world, chance, chance.chosen)
        if not removed and (step == 1 if chance.prompt else not changed):
            _remove(world, base, head, chance)
            removed = changed = True
        changed |= not step
        _measure(world, found)
        step += 1
        assert step < MOST_STEPS, "the controllers never rest"
    _end(world, found)
    return found


def _labels(bodies: Mapping[str, Body], name: str) -> object:
    return bodies[name]["metadata"]["labels"] if name in bodies else None


def start(objects: Bodies, chance: Chance) -> World:
    """A site at rest: each Machine runs on a host, and the other hosts are free."""
    hosts = {
        name: Host(name, body["metadata"]["labels"]) for name, body in bare_metal(objects).items()
    }
    world = World(control_plane(objects), deployments(objects), hosts)
    for wanted in [world.control, *world.deployments.values()]:
        group = Group(wanted, wanted.replicas)
        if wanted is world.control:
            world.groups_of_control.append(group)
        else:
            world.groups[wanted.name] = [group]
        world.machines += [Machine(wanted.name, group, first=True) for _ in range(wanted.replicas)]
    associate(world, chance, chance.filled)
    for machine in world.machines:
        assert machine.host is not None, f"{machine.owner} lacks hosts to begin with"
        machine.state, machine.clock = "running", 0
    return world


def _apply(world: World, base: Bodies, head: Bodies, refused: set[str], chance: Chance) -> None:
    """What an ``up`` creates and changes; what is refused stays as it is."""
    for name, body in bare_metal(head).items():
        if name not in world.hosts:
            clock = 1 if chance.chosen > 0 else chance.steps(INSPECT)
            world.hosts[name] = Host(name, {}, clock=clock)
        if name not in refused:
            world.hosts[name].labels = body["metadata"]["labels"]
    world.control = control_plane(head)
    late = refused_deployments(base, head)
    for name, wanted in deployments(head).items():
        if name not in late:
            world.deployments[name] = wanted


def _remove(world: World, base: Bodies, head: Bodies, chance: Chance) -> None:
    """What an ``up`` deletes, after it has created and changed everything else: at once, or when
    a person has allowed it. The Machines of a
    MachineDeployment go at once; a Machine whose BareMetalHost goes stays, and its host is wiped
    (baremetal-operator host_state_machine.go checkInitiateDelete)."""
    for name in world.deployments.keys() - deployments(head).keys():
        del world.deployments[name]
        for group in world.groups.pop(name, []):
            group.deleted = True
        for machine in world.owned(name):
            delete(machine, chance)
    for name in bare_metal(base).keys() - bare_metal(head).keys():
        host = world.hosts.pop(name)
        if host.user is not None and host.user.state != "deleting":
            host.user.state = "dead"


def _measure(world: World, found: Play) -> None:
    for name, figures in found.figures.items():
        owned = world.owned(name)
        ready = sum(each.available for each in owned)
        figures.least = min(figures.least, ready)
        figures.at_once = max(figures.at_once, len(owned) - ready)
        figures.down = figures.first - sum(each.first and each.available for each in owned)
        figures.dead = max(figures.dead, sum(each.state == "dead" for each in owned))
        figures.up = sum(each.available and not each.first for each in owned)
    found.running.append(
        frozenset(each.host.name for each in world.machines if each.host and each.available)
    )


def _end(world: World, found: Play) -> None:
    for name, figures in found.figures.items():
        # A MachineSet that may not create Machines leaves its MachineDeployment short of them.
        states = Counter(each.state for each in world.owned(name))
        short = figures.target - states["running"] - states["dead"]
        figures.waits = max(short, states["waiting"])
    ends = found.running[-1]
    kept = frozenset(found.ran).intersection(*found.running)
    for name in found.before | found.there:
        if name not in found.there:
            found.hosts[name] = "remove"
        elif name in found.ran:
            lost = "re-image" if name in ends else "remove"
            found.hosts[name] = "none" if name in kept else lost
        else:
            found.hosts[name] = "add" if name in ends else "none"
