"""Previews made by hand, for the tests of reports: each a kind of change that they must show."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache

from components.effects.vocabulary import (
    ABSENT,
    Action,
    Effect,
    FieldChange,
    Impact,
    Ledger,
    ObjectChange,
    Path,
    PoolPlan,
)
from components.making.manifest import Manifest
from components.object_cache.effects.moved import CacheMove
from preview.result import (
    Cause,
    Deletion,
    Entry,
    Gate,
    HostVerdict,
    ObjectVerdict,
    Preview,
    Reason,
    SitePreview,
    State,
)
from schemas.model.codes import Code
from schemas.model.problem import Problem
from schemas.model.vocabulary import CacheDiscovery

CAPI = "kubernetes-sigs/cluster-api v1.13.6, internal/controllers/machinedeployment/mdutil/util.go"
VERSION: Path = ("spec", "template", "spec", "version")
RACK: Path = ("metadata", "labels", "example.com/rack")


# --- parts ----------------------------------------------------------------------------------------
def names(site: str, zone: str, number: int) -> tuple[str, ...]:
    return tuple(f"{site}-{zone}-{index:03}" for index in range(1, number + 1))


def left_alone(hosts: Iterable[str], pool: str) -> tuple[HostVerdict, ...]:
    return tuple(HostVerdict(host, pool, Impact.NONE, ()) for host in hosts)


def manifest(kind: str, site: str, name: str) -> Manifest:
    metadata = {"namespace": site, "name": name}
    body = {"apiVersion": "example.dev/v1", "kind": kind, "metadata": metadata}
    return Manifest(f"{kind}/{name}", body)


def changed(kind: str, site: str, name: str, *fields: FieldChange) -> ObjectChange:
    there = manifest(kind, site, name)
    return ObjectChange("machines", there, there, fields)


def reason(change: ObjectChange, effect: Effect, *causes: Cause) -> Reason:
    _, kind, namespace, name = change.one.key
    return Reason(effect, f"{kind} {namespace}/{name}", causes)


_PLACED = re.compile(r".*-([a-z])-([0-9]{3})")


def placed(site: SitePreview) -> SitePreview:
    """The site with the zones that its hosts' names say, and eight of them in a rack."""
    hosts = []
    for host in site.hosts:
        match = _PLACED.fullmatch(host.host)
        rack = f"{match[1]}-{(int(match[2]) - 1) // 8 + 1:02}" if match else ""
        hosts.append(host._replace(zone=match[1], rack=rack) if match else host)
    return replace(site, hosts=tuple(hosts))


def one(site: SitePreview) -> Entry:
    site = placed(site)
    return Entry((site.name,), site, (site,))


def alike(site: SitePreview, others: Iterable[str]) -> Entry:
    """An entry of a site and others to which the same happens, each to hosts of its own."""
    site = placed(site)
    members = (site, *(renamed(site, other) for other in others))
    return Entry(tuple(each.name for each in members), site, members)


def renamed(site: SitePreview, name: str) -> SitePreview:
    hosts = tuple(h._replace(host=h.host.replace(site.name, name)) for h in site.hosts)
    return replace(site, name=name, hosts=hosts)


def preview(*entries: Entry, total: int = 3) -> Preview:
    return Preview("main (1a2b3c4)", "work tree", total, entries, code="work tree")


# --- sites ----------------------------------------------------------------------------------------
def harmless_site(name: str = "tokyo-1") -> SitePreview:
    """A longer timeout of a health check."""
    path: Path = ("spec", "checks", "nodeStartupTimeoutSeconds")
    check = changed("MachineHealthCheck", name, "v100", FieldChange(path, 2400, 3600))
    effect = Effect(Impact.NONE, check.name, path, "more patience with machines that start", CAPI)
    edit = Cause(f"sites/{name}.yaml", 40, 20, "pools.v100.health_check", "2400", "3600")
    return SitePreview(
        name,
        State.CHANGED,
        hosts=left_alone(names(name, "a", 400), "v100"),
        reasons=(reason(check, effect, edit),),
        objects=(ObjectVerdict(check, Action.CHANGED, (0,)),),
    )


def disruptive_site(name: str = "tokyo-1") -> SitePreview:
    """A new Kubernetes version for a pool of 104 of 400 hosts, which also move to other racks."""
    rolled = names(name, "b", 104)
    deployment = changed(
        "MachineDeployment", name, "v100", FieldChange(VERSION, "v1.34.3", "v1.34.4")
    )
    why = "a new Machine takes the place of each: drained, wiped and installed again"
    roll = Effect(Impact.REIMAGE, deployment.name, VERSION, why, CAPI, rolled)
    edit = Cause(f"sites/{name}.yaml", 8, 15, "cluster.kubernetes", "v1.34.3", "v1.34.4")
    moves = [_moved(name, host, line) for line, host in enumerate(rolled, 2)]
    hosts = [HostVerdict(h, "v100", Impact.REIMAGE, (0, n)) for n, h in enumerate(rolled, 1)]
    return SitePreview(
        name,
        State.CHANGED,
        hosts=(*left_alone(names(name, "a", 296), "cpu"), *hosts),
        reasons=(reason(deployment, roll, edit), *(why for _, why in moves)),
        objects=(
            ObjectVerdict(deployment, Action.CHANGED, (0,)),
            ObjectVerdict(_template(name), Action.REPLACED, (0,)),
            *(ObjectVerdict(move, Action.CHANGED, (n,)) for n, (move, _) in enumerate(moves, 1)),
        ),
        plans=(V100_PLAN,),
        capacity=(Ledger("", 296, 0, 0, 0), V100_PLAN.out),
    )


V100_PLAN = PoolPlan(
    "v100", "", machines=104, at_once=4, surge=0, waves=26, hours=13.0, drain_hours=52.0,
    out=Ledger("V100", 104, 832, 4, 32),
    notes=("a drain waits up to 7200 s for pods and their disruption budgets",),
)  # fmt: skip


def _moved(site: str, host: str, line: int) -> tuple[ObjectChange, Reason]:
    before, after = f"b-{line:02}", f"c-{line:02}"
    change = changed("BareMetalHost", site, host, FieldChange(RACK, before, after))
    why = "the label is read when the host's next Machine is made"
    effect = Effect(Impact.NONE, change.name, RACK, why, "CAPM3 v1.13.2", (host,))
    edit = Cause(f"sites/{site}.hosts.csv", line, 25, f"hosts.{host}.rack", before, after)
    return change, reason(change, effect, edit)


def _template(site: str) -> ObjectChange:
    images = "http://images.tokyo-1.example/os/ubuntu-24.04-amd64-server-with-drivers-kubernetes-"
    path: Path = ("spec", "template", "spec", "image", "url")
    url = FieldChange(path, f"{images}v1.34.3.raw", f"{images}v1.34.4.raw")
    script = FieldChange(
        ("spec", "files", "/etc/motd", "content"),
        "welcome\nKubernetes v1.34.3\nbye\n",
        "welcome\nKubernetes v1.34.4\nbye\n",
    )
    names = ("v100-6c9d7a49", "v100-0b1f33aa")
    before, after = (manifest("Metal3MachineTemplate", site, name) for name in names)
    return ObjectChange("machines", before, after, (script, url))


def destructive_site(name: str = "tsukuba-1") -> SitePreview:
    """Three hosts leave the list, two of 52 others are drained, and one object is refused."""
    gone = names(name, "a", 3)
    hosts = [manifest("BareMetalHost", name, host) for host in gone]
    removed = [ObjectChange("machines", each, None) for each in hosts]
    effects = [
        Effect(Impact.REMOVE, each.name, (), "the host is deprovisioned: its disks are wiped",
               "BMO v0.13.2", (host,), action=Action.DELETED)
        for each, host in zip(removed, gone, strict=True)
    ]  # fmt: skip
    fewer = changed("MachineDeployment", name, "h100", FieldChange(("spec", "replicas"), 52, 50))
    others = names(name, "b", 52)
    scaled = Effect(
        Impact.DRAIN, fewer.name, ("spec", "replicas"), "Cluster API picks the machines that go",
        CAPI, others, at_most=2,
    )  # fmt: skip
    network = changed("IPPool", name, name, FieldChange(("spec", "prefix"), 22, 23))
    why = "the webhook refuses another prefix while addresses are in use"
    stop = Effect(Impact.NONE, network.name, ("spec", "prefix"), why, "ip-address-manager v1.13.2",
                  action=Action.REFUSED)  # fmt: skip
    edits = [
        Cause(f"sites/{name}.hosts.csv", line, 1, f"hosts.{host}", "its line", "", gone=True)
        for line, host in enumerate(gone, 2)
    ]
    return SitePreview(
        name,
        State.CHANGED,
        hosts=(
            *(HostVerdict(h, "cpu", Impact.REMOVE, (n,)) for n, h in enumerate(gone)),
            *(HostVerdict(h, "h100", Impact.DRAIN, (3,), at_most=2) for h in others),
            *left_alone(names(name, "c", 9), "cpu"),
        ),
        reasons=(
            *(reason(r, e, c) for r, e, c in zip(removed, effects, edits, strict=True)),
            reason(fewer, scaled),
            reason(network, stop),
        ),
        objects=(
            *(ObjectVerdict(each, Action.DELETED, (n,)) for n, each in enumerate(removed)),
            ObjectVerdict(fewer, Action.CHANGED, (3,)),
            ObjectVerdict(network, Action.REFUSED, (4,)),
        ),
        capacity=(Ledger("", 12, 0, 3, 0), Ledger("H100", 52, 416, 2, 16)),
        deletions=(Deletion("hosts", 3),),
    )


def cache_site(name: str = "tokyo-1") -> SitePreview:
    """A host of the cache leaves, others are installed again, and one has a new address."""
    move = CacheMove(
        400, 399, 1_048_573, 1_048_573, CacheDiscovery.HOSTS, CacheDiscovery.HOSTS,
        moved=0.0043, unavoidable=0.0025, servers_before=398, servers_after=396,
        wiped=104, lost=0.26, at_once=4, readdressed=1,
    )  # fmt: skip
    return replace(disruptive_site(name), cache=move)


def unknown_site(name: str = "lab-1") -> SitePreview:
    """A field that no rule knows, on each of three hosts, and two more that are new."""
    hosts = names(name, "a", 3)
    odd = changed("Cluster", name, name, FieldChange(("spec", "novel"), ABSENT, {"on": True}))
    why = "no rule covers what a change of spec.novel does to machines"
    effect = Effect(Impact.UNKNOWN, odd.name, ("spec", "novel"), why, "", hosts)
    new = names(name, "b", 2)
    added = [ObjectChange("machines", None, manifest("BareMetalHost", name, h)) for h in new]
    joins = [
        Effect(Impact.ADD, each.name, (), "it is inspected, and free for the pool", "BMO", (h,))
        for each, h in zip(added, new, strict=True)
    ]
    return SitePreview(
        name,
        State.CHANGED,
        hosts=(
            *(HostVerdict(host, "cpu", Impact.UNKNOWN, (0,)) for host in hosts),
            *(HostVerdict(host, "cpu", Impact.ADD, (n,)) for n, host in enumerate(new, 1)),
        ),
        reasons=(reason(odd, effect), *(reason(a, j) for a, j in zip(added, joins, strict=True))),
        objects=(
            ObjectVerdict(odd, Action.CHANGED, (0,)),
            *(ObjectVerdict(each, Action.ADDED, (n,)) for n, each in enumerate(added, 1)),
        ),
    )


def stuck_site(name: str = "tokyo-1") -> SitePreview:
    """The disruptive site, with a rollout that cannot make progress."""
    why = "no machine may be missing (maxUnavailable 0) and a surge of 1 has no free host"
    plan = V100_PLAN._replace(at_once=0, waves=0, hours=0.0, drain_hours=0.0, stuck=why)
    return replace(disruptive_site(name), plans=(plan,))


def invalid_site(name: str = "tokyo-1") -> SitePreview:
    return SitePreview(
        name,
        State.INVALID,
        problems=(
            Problem(f"sites/{name}.yaml", 39, 46, Code("rollout-stuck"),
                    "pools.v100.rollout.max_surge", "3",
                    "max_unavailable: 0 keeps every old machine, and max_surge: 3 finds no spare "
                    "host",
                    "write max_surge: 0 and max_unavailable: 1, or spares: 1 if the pool has a "
                    "free host"),
            Problem(f"sites/{name}.yaml", 0, 0, Code.FILE_EMPTY, "", "", "the file is empty",
                    "write the site"),
        ),
    )  # fmt: skip


# --- previews -------------------------------------------------------------------------------------
def gated() -> Preview:
    fix = "if that is intended, write this line in the pull request: Foresite-Allow: remove=3"
    gate = Gate("remove", "3 hosts would be lost, and the pull request acknowledges none", fix)
    return replace(preview(one(destructive_site())), gates=(gate,), allowed={"remove": 1})


def mixed() -> Preview:
    entries = map(one, (invalid_site("osaka-1"), destructive_site(), unknown_site()))
    return preview(*entries, one(disruptive_site()), one(harmless_site("kyoto-1")), total=9)


def equal_sites() -> Preview:
    others = [f"site-{number:02}" for number in range(2, 32)]
    return preview(alike(disruptive_site("site-01"), others), total=40)


def own_code() -> Preview:
    return replace(preview(one(harmless_site())), code_changed=("components/site.py",))


@cache
def thousand_sites() -> Preview:
    """A thousand sites, each of which another big change is made to."""
    makers = (destructive_site, unknown_site, disruptive_site, harmless_site)
    return preview(*(one(makers[n // 250](f"site-{n:04}")) for n in range(1000)), total=1000)


_MAKERS: Mapping[str, Callable[[], Preview]] = {
    "nothing": preview,
    "harmless": lambda: preview(one(harmless_site())),
    "disruptive": lambda: preview(one(disruptive_site())),
    "destructive": gated,
    "unknown": lambda: preview(one(unknown_site())),
    "stuck": lambda: preview(one(stuck_site())),
    "invalid": lambda: preview(one(invalid_site())),
    "cache": lambda: preview(one(cache_site())),
    "mixed": mixed,
    "equal sites": equal_sites,
    "own code": own_code,
}
SAMPLES: Mapping[str, Callable[[], Preview]] = {name: cache(make) for name, make in _MAKERS.items()}
"""Each kind of preview by name, small ones only; each is made once, as nothing changes it."""
