"""One step of each controller.

Sources: Cluster API v1.13.5, internal/controllers/machinedeployment/
machinedeployment_rollout_rollingupdate.go, machinedeployment_rollout_ondelete.go, mdutil/util.go;
internal/controllers/machineset/machineset_controller.go, machineset_preflight.go and
machineset_deletion_order.go; controlplane/kubeadm/internal/controllers/update.go and scale.go.
Cluster API Provider Metal3 v1.13.2, baremetal/metal3machine_manager.go.
"""

from random import Random

from tests.preview.simulator.world import Group, Host, Machine, Wanted, World

WIPE, INSTALL, INSPECT = (4, 7), (4, 7), (3, 5)
"""Steps that a drain with a wipe and an installation take; a controller reacts within one."""


class Chance:
    """What upstream leaves to chance or to names that nobody knows yet.

    The ``special`` hosts are taken before all others or after them, so that few plays reach the
    extremes; ``prompt`` is false where objects are deleted only when all else rests.
    """

    def __init__(self, seed: int, special: set[str]) -> None:
        self.random = Random(seed)
        signs = [1 if seed >> bit & 1 else -1 for bit in range(3)] if seed < 8 else [0, 0, 0]
        self.filled, self.deleted, self.chosen = signs
        self.special = special
        self.prompt = seed % 3 > 0

    def rank(self, sign: int, host: Host | None) -> tuple[int, float]:
        special = host is not None and host.name in self.special
        return (-sign if special else 0, self.random.random())

    def steps(self, bounds: tuple[int, int]) -> int:
        return self.random.randint(*bounds)


def matches(wanted: Wanted, host: Host) -> bool:
    return all(host.labels.get(key) == value for key, value in wanted.selector)


def associate(world: World, chance: Chance, sign: int) -> bool:
    """Give each waiting Machine a free host that its template selects (chooseHost)."""
    changed = False
    for machine in world.machines:
        if machine.state != "waiting":
            continue
        wanted = machine.group.wanted
        free = [
            each
            for each in world.hosts.values()
            if not each.user and not each.clock and matches(wanted, each)
        ]
        if free:
            host = min(free, key=lambda each: chance.rank(sign, each))
            host.user, machine.host, machine.state = machine, host, "installing"
            machine.clock = chance.steps(INSTALL)
            changed = True
    return changed


def tick(world: World) -> bool:
    """Let time pass for what is installed and wiped; False if nothing is."""
    busy = False
    for host in world.hosts.values():
        busy |= host.clock > 0
        host.clock = max(host.clock - 1, 0)
    for machine in list(world.machines):
        if machine.state not in ("installing", "deleting"):
            continue
        busy = True
        machine.clock -= 1
        if machine.clock > 0:
            continue
        if machine.state == "installing":
            machine.state = "running"
        else:
            world.machines.remove(machine)
            if machine.host is not None:
                machine.host.user = None
    return busy


def delete(machine: Machine, chance: Chance) -> None:
    if machine.state != "deleting":
        machine.clock = chance.steps(WIPE) if machine.host and machine.state != "dead" else 1
        machine.state = "deleting"


# --- MachineDeployments ---------------------------------------------------------------------------
def plan(world: World, wanted: Wanted) -> bool:
    """Scale the MachineSets of a MachineDeployment, as the rollout planner does."""
    groups = world.groups.setdefault(wanted.name, [])
    new = next((each for each in groups if each.wanted.key == wanted.key), None)
    if new is None:
        new = Group(wanted, 0)
        groups.append(new)
    old = [each for each in groups if each is not new]
    intents = _scale_new(world, wanted, new, groups)
    if wanted.on_delete:
        _scale_old_on_delete(world, wanted, old, new, intents)
    else:
        _scale_old(world, wanted, old, new, intents)
        _break_deadlock(world, old, new, intents)
    for group, replicas in intents.items():
        group.replicas = replicas
    return bool(intents)


def _scale_new(world: World, wanted: Wanted, new: Group, groups: list[Group]) -> dict[Group, int]:
    if new.replicas > wanted.replicas:
        return {new: wanted.replicas}
    limit = wanted.replicas + (0 if wanted.on_delete else wanted.surge)
    room = limit - sum(max(each.replicas, len(world.of(each))) for each in groups)
    grown = new.replicas + min(room, wanted.replicas - new.replicas)
    return {new: grown} if room > 0 and grown > new.replicas else {}


def _available(world: World, *groups: Group) -> int:
    return sum(machine.available for group in groups for machine in world.of(group))


def _scale_old(
    world: World, wanted: Wanted, old: list[Group], new: Group, intents: dict[Group, int]
) -> None:
    """reconcileOldMachineSetsRollingUpdate: never below the least number that must be available,
    and slower while Machines of the new MachineSet are not available."""
    if not sum(each.replicas for each in old):
        return
    groups = [*old, new]
    least = max(wanted.replicas - min(wanted.unavailable, wanted.replicas), 0)
    available = _available(world, *groups)
    pending = sum(
        max(len(world.of(each)) - min(each.replicas, intents.get(each, each.replicas)), 0)
        for each in groups
    )
    unready = max(new.replicas - _available(world, new), 0)
    room = max(sum(each.replicas for each in groups) - pending - least - unready, 0)
    for only_unavailable in (True, False):
        for group in old:
            replicas, there = intents.get(group, group.replicas), len(world.of(group))
            ready = _available(world, group)
            down = min(replicas - ready if only_unavailable else replicas, room)
            if down <= 0:
                continue
            if ready > 0 and there > replicas - down:
                if available - least < there - (replicas - down):
                    kept = min(there - max(available - least, 0), replicas)
                    down = max(replicas - kept, 0)
                available -= min(ready, max(there - (replicas - down), 0))
            if down > 0:
                intents[group] = replicas - down
                room -= down


def _break_deadlock(world: World, old: list[Group], new: Group, intents: dict[Group, int]) -> None:
    """reconcileDeadlockBreaker: an old Machine more where old ones are broken and nothing moves."""
    broken = [each for each in old if _available(world, each) != len(world.of(each))]
    still = not intents and all(each.replicas == len(world.of(each)) for each in [*old, new])
    if still and _available(world, new) == len(world.of(new)):
        for group in broken[:1]:
            intents[group] = max(group.replicas - 1, 0)


def _scale_old_on_delete(
    world: World, wanted: Wanted, old: list[Group], new: Group, intents: dict[Group, int]
) -> None:
    total = sum(each.replicas for each in old) + intents.get(new, new.replicas)
    surplus = max(total - wanted.replicas, 0)
    for group in old:
        gone = max(group.replicas - len(world.of(group)), 0)
        down = gone + min(group.replicas - gone, max(surplus - gone, 0))
        surplus -= down
        if down:
            intents[group] = group.replicas - down


def sync(world: World, chance: Chance) -> bool:
    """Make and delete Machines of all MachineSets."""
    changed = False
    for name, groups in world.groups.items():
        for group in groups:
            machines = world.of(group)
            surplus = len(machines) - group.replicas
            if surplus > 0:
                changed |= _delete_first(machines, surplus, chance)
            elif surplus < 0 and _may_create(world, group):
                world.machines += [Machine(name, group) for _ in range(-surplus)]
                changed = True
    return changed


def _delete_first(machines: list[Machine], number: int, chance: Chance) -> bool:
    """The order of deletion: what is being deleted, what is not healthy, then by a name that is
    random (machineset_deletion_order.go)."""
    order = {"deleting": 0, "waiting": 1, "installing": 1, "dead": 1, "running": 2}
    ranked = sorted(
        machines, key=lambda each: (order[each.state], chance.rank(chance.deleted, each.host))
    )
    doomed = [each for each in ranked[:number] if each.state != "deleting"]
    for machine in doomed:
        delete(machine, chance)
    return bool(doomed)


def _may_create(world: World, group: Group) -> bool:
    """The preflight checks; and an old MachineSet makes none under OnDelete."""
    wanted = world.deployments.get(group.wanted.name)
    if group.deleted or wanted is None:
        return False
    if wanted.on_delete and group.wanted.key != wanted.key:
        return False
    lowest = min((each.group.wanted.version for each in world.owned(world.control.name)),
                 key=_number, default=world.control.version)  # fmt: skip
    upgrading = _number(world.control.version) > _number(lowest)
    return not upgrading and world.control.minor == group.wanted.minor


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.removeprefix("v").split("."))


# --- the control plane ----------------------------------------------------------------------------
def control(world: World, chance: Chance) -> bool:
    """One operation of the control plane, while everything else of it is healthy (rollingUpdate,
    preflightChecks)."""
    wanted, machines = world.control, world.owned(world.control.name)
    if any(each.state == "deleting" for each in machines):
        return False
    outdated = [each for each in machines if each.group.wanted.key != wanted.key]
    most = wanted.replicas + (wanted.surge if outdated else 0)
    if len(machines) < most:
        if not all(each.available for each in machines):
            return False
        groups = world.groups_of_control
        group = next((each for each in groups if each.wanted.key == wanted.key), None)
        if group is None:
            group = Group(wanted, 0)
            groups.append(group)
        world.machines.append(Machine(wanted.name, group))
        return True
    if outdated or len(machines) > most:
        unhealthy = [each for each in outdated if not each.available]
        eligible = unhealthy or outdated or machines
        victim = min(eligible, key=lambda each: chance.rank(chance.deleted, each.host))
        if all(each.available for each in machines if each is not victim):
            delete(victim, chance)
            return True
    return False
