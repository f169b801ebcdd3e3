"""Whose an object is, and who else may change or delete it."""

from collections import Counter
from collections.abc import Iterator, Sequence

from policies.messages import say
from policies.rule import Found, Object, text
from schemas.kubernetes.bodies import mapping
from schemas.kubernetes.tables import read_table

MANAGED_BY = "app.kubernetes.io/managed-by"
SITE = "foresite.dev/site"
COMPONENT = "foresite.dev/component"
STATE = "foresite.dev/state"
LABELS = (MANAGED_BY, SITE, COMPONENT)
ARGO_OPTIONS = "argocd.argoproj.io/sync-options"
FLUX_PRUNE = "kustomize.toolkit.fluxcd.io/prune"
GUARDS = ("Prune=false", "Delete=false")

CLUSTER = "cluster.x-k8s.io/Cluster"
_KINDS = read_table(__file__)
PROTECTED, IN_NAMESPACES = (
    frozenset(f"{group}/{kind}" for group, kinds in _KINDS[table].items() for kind in kinds)
    for table in ("protected", "namespaced")
)
"""Kinds whose deletion deletes machines, addresses or a whole namespace, and kinds that live in a
namespace, as ``group/kind``."""
FORCED = {"pulumi.com/patchForce": "true", "kustomize.toolkit.fluxcd.io/force": "enabled"}
FORCED_OPTIONS = ("Force=true", "Replace=true")
"""Options of Argo CD that delete and make anew, or overwrite what others wrote."""


def qualified_kind(each: Object) -> str:
    """An object's kind with its group, and without its version: ``apps/DaemonSet``."""
    api = text(each.body.get("apiVersion"))
    return f"{api.rpartition('/')[0]}/{each.kind}"


def component_of(each: Object) -> str:
    """The component that has made an object; empty where it bears no such label."""
    return text(mapping(each.metadata, "labels").get(COMPONENT))


def _labels_of_owner(each: Object) -> Iterator[Found]:
    labels = mapping(each.metadata, "labels")
    for label in LABELS:
        if not text(labels.get(label)):
            yield Found(f'metadata.labels["{label}"]', f"the label {label} is missing")


def _one_site(objects: Sequence[Object]) -> Iterator[tuple[Object, Found]]:
    named = [(each, text(mapping(each.metadata, "labels").get(SITE))) for each in objects]
    counts = Counter(name for _, name in named if name)
    if len(counts) < 2:
        return
    site = min(counts, key=lambda name: (-counts[name], name))
    for each, name in named:
        if name not in ("", site):
            yield each, say("other-site", f'metadata.labels["{SITE}"]', name, site)


def _namespace_named(each: Object) -> Iterator[Found]:
    if not each.namespace and qualified_kind(each) in IN_NAMESPACES:
        yield Found("metadata.namespace", f"a {each.kind} lives in a namespace, and it names none")


def _protected_from_pruning(objects: Sequence[Object]) -> Iterator[tuple[Object, Found]]:
    # What is left of a site that was decommissioned, without its Cluster, is free to go.
    if not any(qualified_kind(each) == CLUSTER for each in objects):
        return
    for each in objects:
        # A host that is out has nothing to lose, once the management cluster lets it go.
        is_out = mapping(each.metadata, "labels").get(STATE) == "out"
        if qualified_kind(each) not in PROTECTED or is_out:
            continue
        annotations = mapping(each.metadata, "annotations")
        given = {option.strip() for option in text(annotations.get(ARGO_OPTIONS)).split(",")}
        if not given.issuperset(GUARDS):
            at, guards = f'metadata.annotations["{ARGO_OPTIONS}"]', ",".join(GUARDS)
            yield each, say("argo-prunes", at, guards)
        if annotations.get(FLUX_PRUNE) != "disabled":
            yield each, say("flux-prunes", f'metadata.annotations["{FLUX_PRUNE}"]')


def _no_forced_ownership(each: Object) -> Iterator[Found]:
    annotations = mapping(each.metadata, "annotations")
    wrong = [(name, value) for name, value in FORCED.items() if annotations.get(name) == value]
    options = (option.strip() for option in text(annotations.get(ARGO_OPTIONS)).split(","))
    wrong += [(ARGO_OPTIONS, option) for option in options if option in FORCED_OPTIONS]
    for name, value in wrong:
        yield say("forced-ownership", f'metadata.annotations["{name}"]', value)
