"""Why a cluster is not adopted as it stands: everything at once, a sentence each.

Sources: Cluster API v1.13.6, internal/controllers/{machinedeployment,topology}; CAPM3 v1.13.2,
baremetal/metal3machine_manager.go; Bare Metal Operator v0.13.2, host_state_machine.go.
"""

from collections.abc import Iterator

from components.making.told import Told
from foresite.adoption.bundle import Bundle, is_current, title
from foresite.adoption.shape import Shape, protocol, shape_of
from schemas.facts.adopted import CONTROL_PLANE, HOST, KINDS
from schemas.kubernetes.bodies import Json, items, mapping
from schemas.model.hardware import BmcProtocol

TOLD = Told(__file__)
_OWNED = "topology.cluster.x-k8s.io/owned"
_PAUSED = "cluster.x-k8s.io/paused"
_SCALED = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
_HELD = ("baremetalhost.metal3.io/paused", "baremetalhost.metal3.io/detached")
_TEMPLATES = {"KubeadmConfigTemplate", "Metal3MachineTemplate"}


def refusals(bundle: Bundle) -> Iterator[str]:
    """The sentences; none where the cluster can be adopted."""
    clusters = bundle.of("Cluster")
    for each in bundle.objects.values():
        if not is_current(each):
            wanted = KINDS[each["kind"]]
            yield TOLD.say("version", title=title(each), api=each["apiVersion"], wanted=wanted)
        elif each["kind"] in KINDS and not items(mapping(each, "metadata"), "managedFields"):
            yield TOLD.say("managers", title=title(each))
    if len(clusters) != 1:
        names = ", ".join(each["metadata"]["name"] for each in clusters[:5]) or "none"
        values = {"namespace": bundle.namespace, "number": len(clusters), "names": names}
        yield TOLD.say("clusters", **values)
        return
    yield from _cluster(bundle, clusters[0])
    shape = shape_of(bundle)
    for owner in shape.owners:
        yield from _owner(bundle, owner)
    versions = {str(mapping(o, "spec", "template", "spec").get("version")) for o in shape.workers}
    if len(versions) > 1:
        yield TOLD.say("versions", versions=", ".join(sorted(versions)))
    for each in bundle.of("MachinePool"):
        yield TOLD.say("pools", title=title(each))
    yield from _machines(bundle, shape)
    for host in bundle.of(HOST):
        yield from _host(host, shape)


def _cluster(bundle: Bundle, cluster: Json) -> Iterator[str]:
    name, spec = cluster["metadata"]["name"], mapping(cluster, "spec")
    if "topology" in spec:
        yield TOLD.say("topology", title=title(cluster))
    for field, row, wanted in (
        ("controlPlaneRef", "control_plane", CONTROL_PLANE),
        ("infrastructureRef", "infrastructure", "Metal3Cluster"),
    ):
        reference = mapping(spec, field)
        if reference.get("kind") != wanted:
            yield TOLD.say(row, name=name, kind=reference.get("kind", "none"))
        elif bundle.get(wanted, reference.get("name")) is None:
            missing = {"kind": wanted, "name": reference.get("name")}
            yield TOLD.say("missing", title=title(cluster), **missing)
    if spec.get("paused") is True:
        yield TOLD.say("paused", title=title(cluster))


def _owner(bundle: Bundle, owner: Json) -> Iterator[str]:
    """A MachineDeployment or KubeadmControlPlane is at rest, and of kinds that Foresite makes."""
    spec, status, metadata = (mapping(owner, each) for each in ("spec", "status", "metadata"))
    if _OWNED in mapping(metadata, "labels"):
        yield TOLD.say("topology", title=title(owner))
    annotations = mapping(metadata, "annotations")
    if _PAUSED in annotations or spec.get("paused") is True:
        yield TOLD.say("paused", title=title(owner))
    if _SCALED in annotations:
        yield TOLD.say("autoscaled", title=title(owner), key=_SCALED)
    counts = {key: status.get(key, 0) for key in ("replicas", "upToDateReplicas")}
    wrong = [f"{key} {each}" for key, each in counts.items() if each != spec.get("replicas")]
    seen, now = status.get("observedGeneration", 0), metadata.get("generation", 0)
    wrong += ["its last change is not seen yet"] if seen < now else []
    if wrong:
        yield TOLD.say("rolling", title=title(owner), why=", ".join(wrong))
    references = references_of(owner)
    if kinds := {str(each.get("kind")) for each in references} - _TEMPLATES:
        yield TOLD.say("pool_kinds", title=title(owner), kinds=", ".join(sorted(kinds)))
        return
    for each in references:
        if bundle.get(each["kind"], each.get("name")) is None:
            yield TOLD.say("missing", title=title(owner), kind=each["kind"], name=each.get("name"))


def references_of(owner: Json) -> list[Json]:
    """What a MachineDeployment or a KubeadmControlPlane makes machines from."""
    if owner["kind"] == CONTROL_PLANE:
        return [mapping(owner, "spec", "machineTemplate", "spec", "infrastructureRef")]
    spec = mapping(owner, "spec", "template", "spec")
    return [mapping(spec, "infrastructureRef"), mapping(spec, "bootstrap", "configRef")]


def _machines(bundle: Bundle, shape: Shape) -> Iterator[str]:
    known = {each["metadata"]["name"] for owned in shape.machines.values() for each in owned}
    for each in bundle.of("Machine"):
        metadata, status, name = each["metadata"], mapping(each, "status"), title(each)
        conditions = {c.get("type"): c.get("status") for c in items(status, "conditions")}
        if metadata["name"] not in known:
            yield TOLD.say("stray", title=name)
        if metadata.get("deletionTimestamp"):
            yield TOLD.say("unwell", title=name, why="being deleted")
        elif metadata["name"] not in shape.hosts:
            yield TOLD.say("hostless", title=name)
        elif not mapping(status, "nodeRef").get("name"):
            yield TOLD.say("unwell", title=name, why="without a node")
        elif conditions.get("Available", "True") != "True":
            yield TOLD.say("unwell", title=name, why="not available")


def _host(host: Json, shape: Shape) -> Iterator[str]:
    spec, status, name = mapping(host, "spec"), mapping(host, "status"), title(host)
    holder = mapping(spec, "consumerRef")
    held = host["metadata"]["name"] in shape.held
    state = str(mapping(status, "provisioning").get("state") or "not registered yet")
    annotations = mapping(host, "metadata", "annotations")
    yield from (TOLD.say("held", title=name, key=key) for key in _HELD if key in annotations)
    if spec.get("externallyProvisioned") is True:
        yield TOLD.say("external", title=name)
    elif holder and not held:
        whose = f"{holder.get('kind')} {holder.get('name')}"
        yield TOLD.say("foreign", title=name, holder=whose, cluster=shape.cluster)
    elif state not in (("provisioned",) if held else ("available", "ready")):
        yield TOLD.say("state", title=name, state=state)
    if status.get("operationalStatus") in ("error", "detached") or status.get("errorType"):
        why = status.get("errorType") or status.get("operationalStatus")
        yield TOLD.say("fault", title=name, why=why)
    if spec.get("online") is not True:
        yield TOLD.say("off", title=name)
    if protocol(host) is None:
        address = mapping(spec, "bmc").get("address", "none")
        protocols = ", ".join(each.value for each in BmcProtocol)
        yield TOLD.say("bmc", title=name, address=address, protocols=protocols)
