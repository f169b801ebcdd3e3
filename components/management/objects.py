"""The objects of a management cluster: providers by the Cluster API Operator, Ironic, settings of
the Bare Metal Operator, and the manifests that its file names, as they are.

Sources: Cluster API Operator v0.28.0, internal/controller/component_customizer.go: arguments of a
container replace those of the components, while ``manager.additionalArgs`` fails on one that is
there; feature gates are merged. Ironic Standalone Operator v0.9.0, api/v1alpha1.
"""

from components.making.brought import logical_name, registered
from components.making.manifest import (
    CRD,
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
from schemas.model.hardware import Arch

NAME = "management"
OPERATOR = "operator.cluster.x-k8s.io"
_TAINTED = ("core", "bootstrap", "control-plane")
"""Managers that need the feature gate for taints."""
_VERSIONS = {"ipam": "ipam", "infrastructure": "metal3"}
_ARCHITECTURES = {Arch.AMD64: "x86_64", Arch.ARM64: "aarch64"}


def objects(site: Site) -> list[Manifest]:
    """The objects of a site's management cluster; none where that has no file.

    Vendored objects take the place of namespaces here, and settings here that of vendored ones.
    """
    managed = site.managed
    if managed is None:
        return []
    others = {_key(each): each for each in managed.vendored()}
    every = dict(others)
    for each in _own(managed):
        there = others.get(_key(each), {})
        if each["kind"] == "ConfigMap":
            every[_key(each)] = {**each, "data": {**there.get("data", {}), **each["data"]}}
        elif each["kind"] != "Namespace" or not there:
            every[_key(each)] = each
    made = [registered(each, managed.stack, NAME, f"{managed.name}/") for each in every.values()]
    ordered = sorted(made, key=lambda each: (each.kind != CRD, each.kind not in FIRST))
    # Annotated like those of a site's own cluster: Pulumi does not wait, as the pods of one program
    # start once the webhooks of another answer.
    held = annotate([each._replace(protect=_held(each)) for each in ordered])
    return [each._replace(target=Target.MANAGEMENT) for each in held]


def _held(manifest: Manifest) -> bool:
    """True for what takes clusters or hosts with it."""
    return manifest.kind in FIRST or manifest.kind == "Ironic" or OPERATOR in manifest.group_kind


def _key(body: Json) -> str:
    return f"{str(body['apiVersion']).rpartition('/')[0]} {logical_name(body)}"


def _own(managed: Managed) -> list[Json]:
    file, ironic = managed.file, managed.file.ironic
    providers = {part: _provider(managed, part) for part in (*_TAINTED, *_VERSIONS)}
    dhcp = ironic.dhcp and {
        "networkCIDR": ironic.dhcp.network, "rangeBegin": ironic.dhcp.first,
        "rangeEnd": ironic.dhcp.last, "gatewayAddress": ironic.dhcp.gateway,
        "dnsAddress": ironic.dhcp.dns,
    }  # fmt: skip
    made = filled(
        __file__,
        labels=labels(managed.stack, NAME),
        **providers,
        **ironic.model_dump(
            include={
                "version",
                "image",
                "keepalived",
                "address",
                "interface",
                "ssh_key",
                "certificate",
            }
        ),
        manager="keepalived" if ironic.keepalived else None,
        dhcp=dhcp,
        bmc_ca=ironic.bmc_ca and {"kind": "Secret", "name": ironic.bmc_ca},
        ramdisks=[
            {"architecture": _ARCHITECTURES[arch], **each.model_dump()}
            for arch, each in sorted(ironic.ramdisk.items())
        ],
        limit=str(file.provisioning_limit),
    )
    bare = file.providers is None
    return [prune(each) for each in made if not (bare and OPERATOR in each["apiVersion"])]


def _provider(managed: Managed, part: str) -> Json:
    """The spec of a provider."""
    file = managed.file
    if (said := file.providers) is None:
        return {}
    version = getattr(managed.release.cluster_api, _VERSIONS.get(part, "core"))
    fetch = {
        "oci": {"oci": f"{said.registry}/{part}:{version}"},
        "config-maps": {"selector": {"matchLabels": {"provider-components": part}}},
    }
    flags = {PREALLOCATION: "true"} if part == "infrastructure" else {}
    if part == "core" and file.sync_labels:
        flags = {SYNC: ",".join(file.sync_labels)}
    image = said.images.get(part)  # type: ignore[call-overload]
    container = {"name": "manager", "args": flags, "imageUrl": image}
    gates = {"featureGates": {TAINTS: True}} if file.taints_in_place and part in _TAINTED else {}
    return {
        "version": version,
        "fetchConfig": fetch.get(said.source),
        "manager": gates,
        "deployment": {"containers": [prune(container)]} if flags or image else None,
    }
