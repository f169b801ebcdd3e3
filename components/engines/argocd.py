"""Argo CD's objects for a fleet (argocd.yaml, argocd_*.lua): a root whose waves are rings, and for
each cluster of a site an Application and the project that says what it may write.

Names of what is no site have a dot, which no site's name has.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from components.engines.fleet import Fleet, Member, named
from components.making.manifest import Json, Target, documents, fill, labels, prune
from components.making.told import Told

ENGINE = "argocd"
TOLD = Told(__file__)
(_RULES, _PARAMETERS, _ROOT_PROJECT, _ROOT, _PROJECT, _APPLICATION) = documents(__file__)
MOST = 3000
"""Objects of an Application at most: its status lists each twice, in some 450 bytes, and etcd takes
1.5 MiB (argo-cd v3.2.12, types.go, ResourceStatus and ResourceResult)."""
LOOKS = 15
"""Minutes of a wave for a sync that is tried four times, and for Argo CD's looks."""
SCRIPTS = {
    path.stem.removeprefix("argocd_"): path.read_text("utf-8")
    for path in Path(__file__).parent.glob("argocd_*.lua")
}


def files(fleet: Fleet) -> dict[str, list[Json]]:
    """The objects by file. The root applies what is in ``fleet``; a person applies the others, as
    who may write a project may write everything."""
    root = fleet.manifests.model_dump(include={"repository", "branch"})
    root["path"] = fleet.folder(ENGINE, "fleet")
    found = {
        "install/argocd-cm.yaml": [fill(_RULES, SCRIPTS)],
        "root/root.yaml": [fill(_ROOT_PROJECT, root), fill(_ROOT, root)],
    }
    waves = Counter[str]()
    for member in fleet.members:
        for target in Target:
            if values := _values(fleet, member, target):
                found[f"projects/{values['name']}.yaml"] = [fill(_PROJECT, values)]
                path = f"fleet/{member.name}.yaml"
                found.setdefault(path, []).append(prune(fill(_APPLICATION, values)))
                minutes = int(values["late"]) + int(values["soak"]) + LOOKS
                waves |= Counter({values["wave"]: minutes})  # the larger one
    timeout = {"timeout": str(60 * waves.total())}
    return found | {"install/argocd-cmd-params-cm.yaml": [fill(_PARAMETERS, timeout)]}


def _values(fleet: Fleet, member: Member, target: Target) -> Json:
    """The values of an Application and its project; none where the member has no objects there,
    or where nobody has said yet by what name Argo CD knows the cluster."""
    its_own = target is Target.SITE
    destination = member.context if its_own else member.management
    place = member.places.get(target)
    if not place or not destination:
        return {}
    name = f"cluster.{member.name}" if its_own else member.name
    rings, spaces = fleet.rings, place.namespaces or ("default",)
    ignore = {} if its_own else member.ignore
    # Those of a management cluster come before all sites, a site's hosts before its own cluster.
    wave = -1 if member.ring is None else 2 * member.ring + its_own
    return {
        "name": name,
        "project": f"foresite-{name}",
        "description": f"{member.name}: its objects on {destination}",
        "labels": labels(member.name, ENGINE),
        "target": target.value,
        "waited": str(member.waited).lower(),
        "ring": None if member.ring is None else str(member.ring),
        "repository": fleet.manifests.repository,
        "tag": f"refs/tags/{fleet.manifests.tag}",
        "path": fleet.folder(member.name, target.value),
        "wave": str(wave),
        "soak": str(rings.soak_minutes),
        "late": str(rings.late_minutes + (0 if its_own else member.minutes)),
        "destination": destination,
        "namespace": spaces[0],
        "destinations": [{"name": destination, "namespace": each} for each in spaces],
        "kinds": [{"group": group, "kind": kind} for group, kind in place.kinds],
        "ignore": [{"group": g, "kind": k, "jsonPointers": f} for (g, k), f in ignore.items()]
        or None,
    }


def advice(fleet: Fleet) -> Iterator[str]:
    """What Argo CD does not do with this fleet."""
    yield TOLD.say("install", path=fleet.folder(ENGINE))
    unknown = [e.name for e in fleet.members if Target.SITE in e.places and e.context is None]
    large = [e.name for e in fleet.members if any(p.objects > MOST for p in e.places.values())]
    yield from named(TOLD, "unknown", unknown)
    yield from named(TOLD, "large", large, most=MOST)
