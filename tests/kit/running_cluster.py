"""A cluster that somebody made without Foresite, in the shape of clusterctl's template."""

import json
from pathlib import Path
from typing import Any

from components.making.manifest import Json, filled

NAMESPACE, CLUSTER, CONTROL, WORKERS, SPARES = "metal3", "prod", 3, 2, 1
NAMES = {
    "cluster": CLUSTER,
    "namespace": NAMESPACE,
    "controlplane": f"{CLUSTER}-controlplane",
    "worker": f"{CLUSTER}-workers",
    "data": f"{CLUSTER}-template",
    "pool": "provisioning-pool",
}


def hosts() -> list[str]:
    """The names of its hosts, control planes first, the spare last."""
    return [f"node-{number}" for number in range(CONTROL + WORKERS + SPARES)]


def manifests(namespace: str = NAMESPACE) -> list[Json]:
    """What its Git has: all but what controllers make."""
    found = [*filled(__file__, **NAMES, workers=WORKERS), *map(_host, range(len(hosts())))]
    return [{**each, "metadata": {**each["metadata"], "namespace": namespace}} for each in found]


def _host(number: int) -> Json:
    """A BareMetalHost as somebody may write it: another spelling of MACs, no boot mode."""
    labels = {"role": "control-plane" if number < CONTROL else "worker", "example.com/rack": "r1"}
    metadata = {"name": hosts()[number], "namespace": NAMESPACE, "labels": labels}
    address = f"redfish-virtualmedia://10.40.0.{10 + number}/redfish/v1/Systems/1/"
    spec = {
        "online": True,
        "bootMACAddress": f"52:54:00:AA:00:{number:02X}",
        "bmc": {"address": address, "credentialsName": f"{hosts()[number]}-bmc-secret"},
        "rootDeviceHints": {"deviceName": "/dev/disk/by-path/pci-0000:01:00.0-nvme-1"},
    }
    return {
        "apiVersion": "metal3.io/v1alpha1",
        "kind": "BareMetalHost",
        "metadata": metadata,
        "spec": spec,
    }


def owned(body: Json, manager: str) -> Json:
    """An object as an engine applied it: the owner of each field is in managedFields."""
    metadata = body["metadata"]
    about = {key: metadata.get(key, {}) for key in ("labels", "annotations")}
    fields = {"f:metadata": _fields(about), "f:spec": _fields(body.get("spec", {}))}
    entry = {"manager": manager, "operation": "Apply", "fieldsV1": fields}
    more = {"uid": f"uid-{metadata['name']}", "generation": 1, "managedFields": [entry]}
    return {**body, "metadata": {**metadata, **more}}


def _fields(value: Any) -> Json:
    return (
        {f"f:{key}": _fields(each) for key, each in value.items()}
        if isinstance(value, dict)
        else {}
    )


def live(manager: str = "kustomize-controller") -> list[Json]:
    """The objects of the running cluster, with those of controllers, as a read gives them."""
    found = [owned(each, manager) for each in manifests()]
    by = {(each["kind"], each["metadata"]["name"]): each for each in found}
    for kind, count in (("KubeadmControlPlane", CONTROL), ("MachineDeployment", WORKERS)):
        status = {"replicas": count, "upToDateReplicas": count, "observedGeneration": 1}
        by[kind, CLUSTER]["status"] = status
    for number, name in enumerate(hosts()):
        host = by["BareMetalHost", name]
        held = number < CONTROL + WORKERS
        found_hardware = {"cpu": {"arch": "x86_64", "count": 64}, "ramMebibytes": 524288,
                          "systemVendor": {"serialNumber": f"SN{number:04}"}}  # fmt: skip
        host["status"] = {"provisioning": {"state": "provisioned" if held else "available"},
                          "operationalStatus": "OK", "hardware": found_hardware}  # fmt: skip
        if not held:
            continue
        host["spec"] |= {"consumerRef": {"kind": "Metal3Machine", "name": f"m3m-{number}"},
                         "image": {"url": "http://images.prod.lan/node.qcow2"},
                         "automatedCleaningMode": "metadata"}  # fmt: skip
        mark = "control-plane" if number < CONTROL else "deployment-name"
        machine = _made("Machine", f"m-{number}", {f"cluster.x-k8s.io/{mark}": CLUSTER})
        machine["spec"] = {"infrastructureRef": {"kind": "Metal3Machine", "name": f"m3m-{number}"}}
        addresses = [{"type": "InternalIP", "address": f"10.30.0.{10 + number}"}]
        machine["status"] = {"nodeRef": {"name": f"n-{number}"}, "addresses": addresses,
                             "conditions": [{"type": "Available", "status": "True"}]}  # fmt: skip
        found.append(machine)
    return found


def _made(kind: str, name: str, labels: Json) -> Json:
    metadata = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}", "labels": labels}
    return {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind, "metadata": metadata}


def write_bundle(path: Path, objects: list[Json]) -> Path:
    """A bundle as ``foresite adopt read`` writes it."""
    marks = {"foresite.dev/context": "mgmt", "foresite.dev/namespace": NAMESPACE}
    body = {
        "apiVersion": "v1",
        "kind": "List",
        "metadata": {"annotations": marks},
        "items": objects,
    }
    path.write_text(json.dumps(body), encoding="utf-8")
    return path
