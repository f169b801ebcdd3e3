"""Programs that sites have others install, run on a twin as they are released: Kueue, JobSet,
Volcano, and Node Feature Discovery's master. They have all rights here.

Kueue makes its own certificate, which is good for its Service alone; here that Service is another
name of this machine. JobSet shows the API server's certificate, and is called by its address.
"""

import base64
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.making.manifest import Json
from controlplane import Client
from controlplane.ports import free_port
from controlplane.twin import Twin
from controlplane.twin.process import Process, Program
from schemas.kubernetes.node_labels import TEAM_LABEL
from tools.toolchain import ToolchainError, Tools, ensure

GROUPS = ("schedulers", "given")
LOOPBACK = "127.0.0.1"
_CONVERTED = ("clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads")
_JUDGED = ("jobs", "jobsets", "pods", "clusterqueues", "cohorts", "resourceflavors", "workloads")
_VOLCANO = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}, {name: conformance}]
- plugins: [{name: overcommit}, {name: drf, enablePreemptable: false}, {name: predicates},
    {name: proportion}, {name: nodeorder}, {name: binpack}]
"""
"""The actions and plugins of Volcano's chart (installer/helm/chart/volcano/config)."""
_UNUSED = (
    ("HyperNode", "hypernodes", "topology.volcano.sh", "Cluster"),
    ("Numatopology", "numatopologies", "nodeinfo.volcano.sh", "Cluster"),
    ("Command", "commands", "bus.volcano.sh", "Namespaced"),
)
"""Kinds that Volcano waits for, and that nobody makes objects of."""
_QUEUE = "scheduling.volcano.sh/queue-name"
_SECONDS = 60.0


def tools() -> Tools:
    """The programs; the test is skipped where one can neither be found nor built."""
    try:
        found = ensure(GROUPS)
    except ToolchainError as error:
        pytest.skip(str(error))
    if missing := {"volcano-scheduler", "volcano-controller-manager"} - found.keys():
        pytest.skip(f"{', '.join(sorted(missing))}: not at hand (docs/toolchain.md)")
    return found


def own_crds(found: Tools) -> list[Json]:
    """The CRDs of kinds that the programs use among themselves, in their stored version."""
    folders = [tool.path.parent for tool in found.values()]
    files = [path for folder in folders for path in sorted(folder.glob("*crds.yaml"))]
    files += [path for folder in folders for path in sorted(folder.glob("*.x-k8s.io_*.yaml"))]
    crds = [crd for path in files for crd in _documents(path)]
    for crd in crds:
        crd["spec"]["versions"] = [each for each in crd["spec"]["versions"] if each["storage"]]
    return [*crds, *map(_unused, _UNUSED)]


def _documents(path: Path) -> list[Json]:
    return [each for each in yaml.safe_load_all(path.read_text("utf-8")) if each]


def _unused(row: tuple[str, str, str, str]) -> Json:
    kind, plural, group, scope = row
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": schema}
    names = {"kind": kind, "plural": plural}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "names": names, "scope": scope, "versions": [version]},
    }


def installed(crd: Json) -> Json:
    """A CRD as its program wants it: Kueue's have a place for its certificate."""
    plural, _, group = crd["metadata"]["name"].partition(".")
    if group == "kueue.x-k8s.io" and plural in _CONVERTED:
        client = {"service": {"namespace": "kueue-system", "name": "kueue-webhook-service"}}
        webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
        crd["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    return crd


def _start(
    t: Twin,
    name: str,
    command: Callable[[int], Sequence[str | Path]],
    health: str = "/readyz",
    meanwhile: Callable[[], None] = lambda: None,
) -> None:
    """Start a program that tells of its health, without TLS, on the port that ``command`` is given;
    it ends with the twin."""
    mark = f"--kubeconfig={t._programs._kubeconfig(name)}"
    program = Program(name, mark, lambda port: [*command(port), mark], health=health, plain=True)
    process = t._processes[name] = Process(program, t.directory)
    process.start()
    meanwhile()
    process.wait()


def _write(path: Path, body: Json) -> str:
    path.write_text(yaml.safe_dump(body), "utf-8")
    return f"--config={path}"


def _listening(health: int, port: int, certificates: Path) -> Json:
    """The part of a configuration that keeps a program to the loopback."""
    return {
        "health": {"healthProbeBindAddress": f"{LOOPBACK}:{health}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": LOOPBACK, "port": port, "certDir": str(certificates)},
        "leaderElection": {"leaderElect": False},
    }


def _webhooks(
    client: Client, tool: Path, where: Callable[[str], Json], kinds: Iterable[str]
) -> None:
    """Have the API server call a program's webhooks of these kinds, by their paths."""
    for body in _documents(tool.parent / "manifests.yaml"):
        body["metadata"] = {"name": f"{tool.name}-{body['metadata']['name']}"}
        resources = {
            id(e): {r for rule in e["rules"] for r in rule["resources"]} for e in body["webhooks"]
        }
        body["webhooks"] = [e for e in body["webhooks"] if resources[id(e)] & set(kinds)]
        for each in body["webhooks"]:
            each["clientConfig"] = where(each["clientConfig"]["service"]["path"])
        client.apply(body)


def kueue(t: Twin, found: Tools, configuration: Mapping[str, Any]) -> None:
    """Kueue with a configuration, in which addresses alone are changed."""
    folder, port, binary = t.directory / "kueue-certs", free_port(), found["kueue"].path
    folder.mkdir()
    space = "kueue-system"
    service = {"name": "kueue-webhook-service", "namespace": space}
    spec = {"type": "ExternalName", "externalName": LOOPBACK}
    secret = {"name": "kueue-webhook-server-cert", "namespace": space}
    for kind, metadata, more in (
        ("Namespace", {"name": space}, {}),
        ("Service", service, {"spec": spec}),
        ("Secret", secret, {}),
    ):
        t.client.apply({"apiVersion": "v1", "kind": kind, "metadata": metadata, **more})

    def where(path: str) -> Json:
        return {"service": {**service, "path": path, "port": port}}

    _webhooks(t.client, binary, where, _JUDGED)

    def command(health: int) -> list[str | Path]:
        body = {
            **configuration,
            **_listening(health, port, folder),
            "featureGates": {"VisibilityOnDemand": False},
        }
        return [binary, _write(t.directory / "kueue.yaml", body)]

    def mount() -> None:
        """Write the files of Kueue's own Secret, as a kubelet does."""
        deadline = time.monotonic() + _SECONDS
        while not (data := (t.client.get("v1", "Secret", secret["name"], space) or {}).get("data")):
            assert time.monotonic() < deadline, "Kueue has made no certificate"
            time.sleep(0.1)
        for key, text in sorted(data.items(), reverse=True):
            (folder / key).write_bytes(base64.b64decode(text))

    _start(t, "kueue", command, meanwhile=mount)


def jobset(t: Twin, found: Tools) -> None:
    """JobSet with its webhooks."""
    port, binary = free_port(), found["jobset"].path
    certs, folder = t.directory / "certs", t.directory / "jobset-certs"
    folder.mkdir()
    for kind in ("crt", "key"):
        (folder / f"tls.{kind}").write_bytes((certs / f"apiserver.{kind}").read_bytes())
    authority = base64.b64encode((certs / "apiserver.crt").read_bytes()).decode()

    def where(path: str) -> Json:
        return {"url": f"https://{LOOPBACK}:{port}{path}", "caBundle": authority}

    _webhooks(t.client, binary, where, ["jobsets"])

    def command(health: int) -> list[str | Path]:
        body = {
            "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
            "kind": "Configuration",
            "internalCertManagement": {"enable": False},
            **_listening(health, port, folder),
        }
        return [binary, _write(t.directory / "jobset.yaml", body)]

    _start(t, "jobset", command)


def volcano(t: Twin, found: Tools) -> None:
    """Volcano's scheduler and controllers. Its webhooks are a third program, which is not at hand:
    a policy does what the site relies on, that a group gets the queue of its namespace."""
    for body in _default_queue():
        t.client.apply(body)
    config = t.directory / "volcano.conf"
    config.write_text(_VOLCANO, "utf-8")
    own = {
        "volcano-scheduler": [
            f"--scheduler-conf={config}",
            "--cache-dumper=false",
            "--schedule-period=200ms",
        ],
        "volcano-controller-manager": [
            "--controllers=job-controller,queue-controller,pg-controller"
        ],
    }
    for name, arguments in own.items():

        def command(
            health: int, binary: Path = found[name].path, more: Sequence[str] = arguments
        ) -> list[str | Path]:
            addresses = [
                f"--healthz-address={LOOPBACK}:{health}",
                f"--listen-address={LOOPBACK}:{free_port()}",
            ]
            return [binary, "--leader-elect=false", "--enable-healthz", *addresses, *more]

        _start(t, name, command, "/healthz")


def _default_queue() -> list[Json]:
    api, metadata = "admissionregistration.k8s.io/v1beta1", {"name": "queue-of-namespace"}
    note = f"namespaceObject.metadata.annotations['{_QUEUE}']"
    set_queue = f"JSONPatch{{op: 'add', path: '/spec/queue', value: {note}}}"
    rule = {
        "apiGroups": ["scheduling.volcano.sh"],
        "apiVersions": ["v1beta1"],
        "operations": ["CREATE"],
        "resources": ["podgroups"],
    }
    teams = {"matchExpressions": [{"key": TEAM_LABEL, "operator": "Exists"}]}
    expression = f"object.spec.?queue.orValue('default') == 'default' ? [{set_queue}] : []"
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {"resourceRules": [rule], "namespaceSelector": teams},
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}],
    }
    kind = "MutatingAdmissionPolicy"
    binding = {"policyName": metadata["name"]}
    return [
        {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec},
        {"apiVersion": api, "kind": f"{kind}Binding", "metadata": metadata, "spec": binding},
    ]


def node_feature_discovery(t: Twin, found: Tools, node: str) -> None:
    """The master, as the pod of a ``node``. It serves its health on every interface."""

    def command(health: int) -> list[str | Path]:
        own = [f"--port={health}", "--config=none"]
        return ["/usr/bin/env", f"NODE_NAME={node}", found["nfd-master"].path, *own]

    _start(t, "nfd-master", command, "/healthz")


def node_feature(node: str, devices: Iterable[tuple[str, str, str]]) -> Json:
    """The report of a worker of Node Feature Discovery: class, vendor and device on the bus."""
    keys = ("class", "vendor", "device")
    elements = [{"attributes": dict(zip(keys, each, strict=True))} for each in devices]
    features = {"flags": {}, "attributes": {}, "instances": {"pci.device": {"elements": elements}}}
    labels = {"nfd.node.kubernetes.io/node-name": node}
    return {
        "apiVersion": "nfd.k8s-sigs.io/v1alpha1",
        "kind": "NodeFeature",
        "metadata": {"name": node, "namespace": "default", "labels": labels},
        "spec": {"features": features, "labels": {}},
    }
