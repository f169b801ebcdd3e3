"""The objects of a management cluster: providers by the Cluster API Operator, Ironic, settings of
the Bare Metal Operator, and the manifests that its file names, as they are.

Sources: Cluster API Operator v0.28.0, internal/controller/component_customizer.go: arguments of a
container replace those of the components, while ``manager.additionalArgs`` fails on one that is
there; feature gates are merged. Ironic Standalone Operator v0.9.0, api/v1alpha1.
"""

from components.making.brought import registered
from components.making.manifest import (
    FIRST,
    Json,
    Manifest,
    Target,
    annotate,
    filled,
    labels,
    prune,
)
from schemas.facts.management import PREALLOCATION, SYNC, TAINTS, Managed
from schemas.facts.site import Site
from schemas.kubernetes.bodies import identity
from schemas.model.hardware import Arch

NAME = "management"
OPERATOR = "operator.cluster.x-k8s.io"
_VERSIONS = {
    "core": "core", "bootstrap": "core", "control-plane": "core", "ipam": "ipam",
    "infrastructure": "metal3",
}  # fmt: skip
"""Parts, with what a release calls their versions; those of the core know the gate for taints."""
_ARCHITECTURES = {Arch.AMD64: "x86_64", Arch.ARM64: "aarch64"}


def objects(site: Site) -> list[Manifest]:
    """The objects of a site's management cluster; none where that has no file. Vendored Namespaces
    take the place of those here, and settings here that of vendored ones."""
    if (managed := site.managed) is None:
        return []
    every = {identity(each): each for each in managed.vendored()}
    for each in _own(managed):
        there = every.get(identity(each), each)
        if each["kind"] == "ConfigMap":
            each = {**each, "data": {**(there.get("data") or {}), **each["data"]}}
        every[identity(each)] = there if each["kind"] == "Namespace" else each
    made = [registered(each, managed.stack, NAME, f"{managed.name}/") for each in every.values()]
    # Annotated like those of a site's own cluster: Pulumi does not wait, as the pods of one program
    # start once the webhooks of another answer.
    # Protected is what takes clusters or hosts with it.
    kinds = {*FIRST, "Ironic"}
    held = annotate([e._replace(protect=e.kind in kinds or OPERATOR in e.group_kind) for e in made])
    return [each._replace(target=Target.MANAGEMENT) for each in held]


def _own(managed: Managed) -> list[Json]:
    file, ironic = managed.file, managed.file.ironic
    dhcp = ironic.dhcp.model_dump() if ironic.dhcp else {}
    names = {"network": "networkCIDR", "first": "rangeBegin", "last": "rangeEnd"}
    made = filled(
        __file__,
        **ironic.model_dump(include={"version", "image", "address", "interface", "certificate"}),
        **{part: _provider(managed, part) for part in _VERSIONS},
        labels=labels(managed.stack, NAME),
        dhcp={names.get(key, f"{key}Address"): value for key, value in dhcp.items()},
        authorities=ironic.bmc_ca and {"kind": "Secret", "name": ironic.bmc_ca},
        ramdisks=[
            {"architecture": _ARCHITECTURES[arch], **each.model_dump()}
            for arch, each in sorted(ironic.ramdisk.items())
        ],
        limit=str(file.provisioning_limit),
    )
    return [prune(each) for each in made if file.providers or OPERATOR not in each["apiVersion"]]


def _provider(managed: Managed, part: str) -> Json:
    """The spec of a provider."""
    file, said = managed.file, managed.file.providers
    if said is None:
        return {}
    version = getattr(managed.release.cluster_api, _VERSIONS[part])
    labelled = {"selector": {"matchLabels": {"provider-components": part}}}
    fetch = {"oci": {"oci": f"{said.registry}/{part}:{version}"}, "config-maps": labelled}
    sync = {SYNC: ",".join(file.sync_labels)} if file.sync_labels else {}
    args = {"core": sync, "infrastructure": {PREALLOCATION: "true"}}.get(part, {})
    container = prune({"args": args, "imageUrl": said.model_dump()["images"].get(part)})
    gates = {TAINTS: True} if file.taints_in_place and _VERSIONS[part] == "core" else {}
    return {
        "version": version,
        "fetchConfig": fetch.get(said.source),
        "manager": {"featureGates": gates},
        "deployment": {"containers": [{"name": "manager", **container}]} if container else None,
    }
