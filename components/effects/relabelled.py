"""Effects of labels of nodes that change in place: DaemonSets that select by them come or go.

Nobody restarts a host for such a label, and pods that run do not ask for it again; but the
controller of DaemonSets looks at each node again, and so do operators whose objects select nodes.

Source: Kubernetes 1.34, pkg/controller/daemon/daemon_controller.go (podsShouldBeOnNode: pods leave
a node that fits no more at once, maxUnavailable or OnDelete notwithstanding).
"""

from collections.abc import Iterable, Iterator

from components.effects import Field, Name, Side, SiteChange, kinds
from components.effects.placement import Fit, fits, selected_labels
from components.effects.pods import TEMPLATES, pod_spec
from components.making.manifest import Json, Manifest, Target
from schemas.kubernetes.bodies import items, mapping
from schemas.kubernetes.manifests import read_manifests

TEMPLATE = TEMPLATES[kinds.DAEMON_SET]


def changed_labels(field: Field) -> set[str]:
    """The labels that differ: one, or those of a map that comes or goes."""
    if field is None:
        return set()
    if field.path[-1] != "labels":
        return {str(field.path[-1])}
    both = (each for each in (field.before, field.after) if isinstance(each, dict))
    return {str(key) for each in both for key in each}


def reselections(
    site: SiteChange, hosts: Iterable[str], keys: set[str]
) -> Iterator[tuple[Manifest, dict[str, Fit]]]:
    """The objects on both sides that select by one of the labels and now fit other hosts, and which
    hosts; those whose selection itself changes are judged where that is."""
    if site.before is None or site.after is None:
        return
    before, mine, given = _selecting(site.before), set(hosts), frozenset(keys)
    for name, (manifest, spec) in _selecting(site.after).items():
        other = name not in before or _changes(site, name)
        if other or not keys.intersection(selected_labels(spec)):
            continue
        old = fits(site.before, before[name][1], given)
        new = fits(site.after, spec, given)
        moved = {h: (old[h], fit) for h, fit in new.items() if h in mine and fit is not old[h]}
        found = {h: Fit.MAYBE if Fit.MAYBE in both else Fit.YES for h, both in moved.items()}
        if found:
            yield manifest, found


def _changes(site: SiteChange, name: Name) -> bool:
    """True if an object's own change sets where it fits."""
    change = site.changes.get(name)
    at = TEMPLATE if change and change.group_kind == kinds.DAEMON_SET else ("spec", "nodeSelector")
    return change is not None and any(each.path[: len(at)] == at for each in change.fields)


def _selecting(side: Side) -> dict[Name, tuple[Manifest, Json]]:
    """The objects that select nodes on a side, each with the spec of an equivalent pod: DaemonSets,
    and objects that an operator reads."""
    found = {}
    there = side.objects.items() if side.fleet.context is not None else ()
    direct = {name: each for name, each in there if each.target is Target.SITE}
    for name, manifest in {**direct, **_resource_set_objects(side)}.items():
        selector = mapping(manifest.body, "spec", "nodeSelector")
        all_texts = all(isinstance(each, str) for each in selector.values())
        if manifest.group_kind == kinds.DAEMON_SET:
            found[name] = manifest, pod_spec(manifest) or {}
        elif manifest.group_kind not in TEMPLATES and selector and all_texts:
            # Operators look at labels, and at no taint.
            every = {"tolerations": [{"operator": "Exists"}]}
            found[name] = manifest, {"nodeSelector": selector, **every}
    return found


def _resource_set_objects(side: Side) -> dict[Name, Manifest]:
    """The objects that Cluster API applies: those in the ConfigMaps of ClusterResourceSets."""
    found: dict[Name, Manifest] = {}
    for (component, _), each in side.objects.items():
        if each.group_kind != "ClusterResourceSet.addons.cluster.x-k8s.io":
            continue
        for named in items(mapping(each.body, "spec"), "resources"):
            config = side.objects.get((component, f"ConfigMap/{named.get('name')}"))
            texts = mapping(config.body, "data").values() if config else ()
            bodies = (body for text in texts for body in read_manifests(text))
            every = (Manifest("", body, Target.SITE) for body in bodies)
            found |= {(component, made.title): made for made in every}
    return found
