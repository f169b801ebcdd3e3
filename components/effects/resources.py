"""Effects of changes to namespaces, definitions, services, limits, classes and storage.

Source: Kubernetes 1.34, pkg/apis (core, scheduling, node, storage, policy; validation.go each),
and the controllers that each rule names.
"""

from components.effects import ABSENT, Effects, Field, FieldChange, Impact, ObjectChange, SiteChange
from components.effects.applying import LABELS, effect, former, not_known
from components.effects.pods import pod_spec
from components.effects.relabelled import changed_labels
from components.effects.table import read_kinds
from components.making.manifest import Target
from schemas.kubernetes.bodies import mapping
from schemas.kubernetes.pod_security import PREFIX as POD_SECURITY_LABELS

PROXY = "Kubernetes 1.34, pkg/proxy/servicechangetracker.go"
SCHEDULING = "Kubernetes 1.34, pkg/apis/scheduling/validation/validation.go"
PRIORITY = "Kubernetes 1.34, plugin/pkg/admission/priority/admission.go"
DISRUPTION = "Kubernetes 1.34, pkg/registry/core/pod/storage/eviction.go"
NAMESPACES = "Kubernetes 1.34, pkg/controller/namespace/deletion/namespaced_resources_deleter.go"
DEFINITIONS = "Kubernetes 1.34, apiextensions-apiserver pkg/controller/finalizer/crd_finalizer.go"
POD_SECURITY = "KEP-2579; Kubernetes 1.34, pod-security-admission admission/admission.go"
POLICY = "Kubernetes 1.34, api networking/v1, NetworkPolicySpec"

MACHINE_GROUPS = ("cluster.x-k8s.io", "metal3.io")
"""Groups (and those below) whose objects are machines: when they go, hosts are wiped."""
_SAYS_NOTHING = ("app.kubernetes.io/", "foresite.dev/", "helm.sh/")


def namespace_removal(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """A removed namespace takes all that is in it along, whoever created it."""
    why = "everything in it is deleted, pods and data too, whoever created it"
    impact = Impact.UNKNOWN
    if change.one.target is Target.MANAGEMENT:
        why += "; BareMetalHosts and Machines in it are wiped"
        impact = Impact.REMOVE if change.one.key[3] == site.name else Impact.UNKNOWN
    yield effect(change, field, impact, why, NAMESPACES, hosts=site.side.fleet.names)


def namespace_labels(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """Policies, webhooks and queues select namespaces by labels that they choose."""
    keys = changed_labels(field)
    if keys and all(key.startswith(_SAYS_NOTHING) for key in keys):
        yield from LABELS(site, change, field)
    elif keys and all(key.startswith((*_SAYS_NOTHING, POD_SECURITY_LABELS)) for key in keys):
        why = "it judges later pods, those that restart too; none that runs is touched"
        yield effect(change, field, Impact.NONE, why, POD_SECURITY)
    else:
        why = "namespaces are selected by labels; who selects by this one is not known"
        yield from not_known(why, POLICY)(site, change, field)


def definition_removal(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """A removed definition takes all objects of its kind along."""
    group = str(mapping(change.one.body, "spec").get("group", ""))
    machines = any(group == each or group.endswith(f".{each}") for each in MACHINE_GROUPS)
    impact = Impact.REMOVE if machines else Impact.UNKNOWN
    why = "every object of its kind is deleted, and what their controllers made of them"
    yield effect(change, field, impact, why, DEFINITIONS, hosts=site.side.fleet.names)


def adds_only(_site: SiteChange, _change: ObjectChange, field: FieldChange) -> bool:
    """True for a field, a version or a word more, which a definition may get without harm."""
    *_, above, last = ("", *field.path)
    if last == "description" and above != "properties":
        return True
    if field.before is not ABSENT or field.after is ABSENT:
        return False
    if "properties" in (above, last):
        return not _mentions(field.after, "default")
    more = isinstance(field.after, dict) and field.after.get("storage") is not True
    return above == "versions" and more


def _mentions(value: object, key: str) -> bool:
    if isinstance(value, dict):
        return key in value or any(_mentions(each, key) for each in value.values())
    return isinstance(value, list) and any(_mentions(each, key) for each in value)


def still_named(site: SiteChange, change: ObjectChange, _field: Field) -> dict[str, str]:
    """Those whose pods still name a PriorityClass that goes; nothing where none does."""
    old = former(change)
    every = site.after.objects.values() if site.after else ()
    there = (each for each in every if each.target is old.target)
    named = ((each, (pod_spec(each) or {}).get("priorityClassName")) for each in there)
    still = [each.title for each, name in named if name == old.key[3]]
    return {"still": ", ".join(still)} if still else {}


TABLE = read_kinds(globals())
RESOURCES = TABLE.kinds
SHARED = ("classes", "fenced", "traffic", "priority_class_removal")
"""Judges that tables of components name too."""
CLASSES, FENCED, TRAFFIC, PRIORITY_CLASS_REMOVAL = (TABLE.judges[name] for name in SHARED)
