"""Programs that sites have others install, run on a twin as they are released, with all rights:
Kueue, JobSet, Volcano, and Node Feature Discovery's master."""

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from components.making.manifest import Json
from controlplane.ports import free_port
from tests.kit.parts import or_skip
from tests.kit.scheduling_world import eventually
from tests.kit.twin.cluster import Twin
from tests.kit.twin.cluster.process import Process, Program
from tools.toolchain import Tools, ensure
from tools.toolchain.installed import find

OBJECTS: Json = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
LOOPBACK = "127.0.0.1"
_VOLCANO = {
    "volcano-scheduler": ("--cache-dumper=false", "--schedule-period=200ms"),
    "volcano-controller-manager": ("--controllers=job-controller,queue-controller,pg-controller",),
}
_JUDGED = ("jobs", "jobsets", "pods", "clusterqueues", "cohorts", "resourceflavors", "workloads")


def tools() -> Tools:
    """The programs; the test is skipped where one can neither be found nor built."""
    return {**or_skip(ensure, ["schedulers"]), **{name: or_skip(find, name) for name in _VOLCANO}}


def own_crds(found: Tools) -> list[Json]:
    """The CRDs of kinds that the programs use among themselves, in their stored version."""
    folders = [tool.path.parent for tool in found.values()]
    paths = [path for folder in folders for path in sorted(folder.glob("*.yaml"))]
    crds = [each for path in paths if path.name != "manifests.yaml" for each in _documents(path)]
    for crd in crds:
        crd["spec"]["versions"] = [each for each in crd["spec"]["versions"] if each["storage"]]
    return [*crds, *map(_unused, OBJECTS["unused"])]


def _documents(path: Path) -> list[Json]:
    return [each for each in yaml.safe_load_all(path.read_text("utf-8")) if each]


def _unused(spec: Json) -> Json:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": schema}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{spec['names']['plural']}.{spec['group']}"},
        "spec": {**spec, "versions": [version]},
    }


def installed(crd: Json) -> Json:
    """A CRD as it is installed: Kueue waits for the place of its certificate in its own."""
    if crd["spec"]["group"] == "kueue.x-k8s.io":
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


def _manager(
    t: Twin,
    binary: Path,
    configuration: Mapping[str, Any],
    where: Callable[[str, int], Json],
    meanwhile: Callable[[], None] = lambda: None,
) -> None:
    """Start a manager with its webhooks, which the API server calls as ``where`` says of a path and
    a port; its certificate is in its folder, or gets there ``meanwhile``."""
    port, folder = free_port(), _certificates(t, binary.name)
    for body in _documents(binary.parent / "manifests.yaml"):
        body["metadata"] = {"name": f"{binary.name}-{body['metadata']['name']}"}
        rules = [(each, each["rules"][0]["resources"]) for each in body["webhooks"]]
        body["webhooks"] = [each for each, kinds in rules if kinds[0].partition("/")[0] in _JUDGED]
        for each in body["webhooks"]:
            each["clientConfig"] = where(each["clientConfig"]["service"]["path"], port)
        t.client.apply(body)

    def command(health: int) -> list[str | Path]:
        body = {
            **configuration,
            "health": {"healthProbeBindAddress": f"{LOOPBACK}:{health}"},
            "metrics": {"bindAddress": "0"},
            "webhook": {"host": LOOPBACK, "port": port, "certDir": str(folder)},
            "leaderElection": {"leaderElect": False},
        }
        config = t.directory / f"{binary.name}.yaml"
        config.write_text(yaml.safe_dump(body), "utf-8")
        return [binary, f"--config={config}"]

    _start(t, binary.name, command, meanwhile=meanwhile)


def _certificates(t: Twin, name: str) -> Path:
    folder = t.directory / f"{name}-certs"
    folder.mkdir(exist_ok=True)
    return folder


def kueue(t: Twin, found: Tools, configuration: Mapping[str, Any]) -> None:
    """Kueue with a configuration, in which addresses alone are changed."""
    for body in OBJECTS["kueue"]:
        t.client.apply(body)
    _, service, secret = (each["metadata"] for each in OBJECTS["kueue"])

    def where(path: str, port: int) -> Json:
        return {"service": {**service, "path": path, "port": port}}

    def data() -> dict[str, str]:
        found = t.client.get("v1", "Secret", secret["name"], secret["namespace"])
        made: dict[str, str] = (found or {}).get("data", {})
        return made

    def mount() -> None:
        """Write the files of Kueue's own Secret, as a kubelet does."""
        for key, text in sorted(eventually("a certificate", data).items(), reverse=True):
            (_certificates(t, "kueue") / key).write_bytes(base64.b64decode(text))

    gates = {"featureGates": {"VisibilityOnDemand": False}}
    _manager(t, found["kueue"].path, {**configuration, **gates}, where, mount)


def jobset(t: Twin, found: Tools) -> None:
    """JobSet, which shows the API server's certificate."""
    serving = {kind: t.directory / "certs" / f"apiserver.{kind}" for kind in ("key", "crt")}
    authority = base64.b64encode(serving["crt"].read_bytes()).decode()

    def where(path: str, port: int) -> Json:
        return {"url": f"https://{LOOPBACK}:{port}{path}", "caBundle": authority}

    for kind, path in serving.items():
        (_certificates(t, "jobset") / f"tls.{kind}").write_bytes(path.read_bytes())
    configuration = {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "internalCertManagement": {"enable": False},
    }
    _manager(t, found["jobset"].path, configuration, where)


def volcano(t: Twin, found: Tools) -> None:
    """Volcano's scheduler and controllers."""
    for body in OBJECTS["volcano"]:
        t.client.apply(body)
    config = t.directory / "volcano.conf"
    config.write_text(yaml.safe_dump(OBJECTS["volcano_configuration"]), "utf-8")
    for name, own in _VOLCANO.items():
        more = (f"--scheduler-conf={config}",) if name == "volcano-scheduler" else ()

        def command(
            health: int, binary: Path = found[name].path, own: Sequence[str] = (*own, *more)
        ) -> list[str | Path]:
            addresses = (f"--healthz-address={LOOPBACK}:{health}", f"--listen-address={LOOPBACK}:0")
            return [binary, "--leader-elect=false", "--enable-healthz", *addresses, *own]

        _start(t, name, command, "/healthz")


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
