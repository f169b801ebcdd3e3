"""Pods with metrics as a site's objects make them, and the targets that Prometheus finds there."""

import functools
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

from components.making.manifest import Json
from components.making.watch import Scrape
from components.site import site_objects
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL


class Pod(NamedTuple):
    """A pod as a site's objects make it."""

    namespace: str
    labels: dict[str, str]
    annotations: dict[str, str]
    ports: dict[str, int]
    of: str


# What the site runs itself, by the files that components/*/watch name: their labels and ports.
GPU_OPERATOR = Pod(
    "gpu-operator",
    {"app": "nvidia-dcgm-exporter"},
    {},
    {"metrics": 9400},
    "DaemonSet nvidia-dcgm-exporter",
)
OUTSIDE = (
    GPU_OPERATOR,
    Pod(
        "kueue-system",
        {"app.kubernetes.io/name": "kueue", "control-plane": "controller-manager"},
        {},
        {"metrics": 8443},
        "Deployment kueue-controller-manager",
    ),
    Pod("volcano-system", {"app": "volcano-scheduler"}, {}, {}, "Deployment volcano-scheduler"),
)


STRANGER = OUTSIDE[1]._replace(namespace="team-a", of="Deployment kueue of a team")
"""Pods that anybody may run: with the labels of pods that are shown a token."""


def every_object(site: Site) -> Iterator[Json]:
    for component, made in site_objects(site).items():
        if component != "monitoring":
            yield from (each.body for each in made)


def pods(site: Site) -> list[Pod]:
    """The pods of a site's DaemonSets and Deployments, and those that are the site's own."""
    found = []
    for body in every_object(site):
        if body["kind"] in ("DaemonSet", "Deployment"):
            template = body["spec"]["template"]
            metadata = template["metadata"]
            ports = {
                port.get("name", ""): port["containerPort"]
                for container in template["spec"]["containers"]
                for port in container.get("ports", [])
            }
            name = f"{body['kind']} {body['metadata']['name']}"
            space = body["metadata"]["namespace"]
            annotations = metadata.get("annotations", {})
            found.append(Pod(space, metadata["labels"], annotations, ports, name))
    return [*found, *OUTSIDE]


def chosen(scrape: Scrape, site: Site) -> list[Pod]:
    """The pods that a target selects."""
    return [
        pod
        for pod in pods(site)
        if scrape.namespace == pod.namespace
        and scrape.pod_labels.items() <= pod.labels.items()
        and (not scrape.pools or pod.labels.get(POOL_LABEL) in scrape.pools)
    ]


def services(scrape: Scrape, site: Site) -> list[Json]:
    return [
        body
        for body in every_object(site)
        if body["kind"] == "Service"
        and body["metadata"]["namespace"] == scrape.namespace
        and scrape.labels.items() <= body["metadata"]["labels"].items()
    ]


@functools.cache
def kubernetes() -> bool:
    """True if promtool knows Kubernetes' discovery: Debian's does not."""
    discovery = {"job_name": "a", "kubernetes_sd_configs": [{"role": "pod"}]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.yml"
        path.write_text(json.dumps({"scrape_configs": [discovery]}))
        run = ["promtool", "check", "config", str(path)]
        try:
            return subprocess.run(run, capture_output=True, check=False).returncode == 0
        except FileNotFoundError:
            return False


def discovered(pod: Pod, number: int) -> list[Json]:
    """A running pod as Kubernetes' discovery tells it: a target for each port, one for each
    container without any (Prometheus, discovery/kubernetes/pod.go). Each pod has one more
    container, and one that runs first, which nobody should ask."""
    ip = f"10.77.0.{number}"
    meta = {
        "namespace": pod.namespace,
        "pod_name": f"pod-{number}",
        "pod_ip": ip,
        "pod_phase": "Running",
        "pod_node_name": f"node-{number}",
        **{
            "pod_label_" + re.sub(r"[^a-zA-Z0-9_]", "_", key): value
            for key, value in pod.labels.items()
        },
    }
    main = [
        {"pod_container_name": "main", "pod_container_port_name": name, "at": f"{ip}:{port}"}
        for name, port in pod.ports.items()
    ]
    containers = [
        *(main or [{"pod_container_name": "main", "at": ip}]),
        {"pod_container_name": "other", "at": ip},
        {"pod_container_name": "first", "at": ip, "pod_container_init": "true"},
    ]
    return [
        {
            "targets": [each.pop("at")],
            "labels": {
                f"__meta_kubernetes_{key}": value for key, value in {**meta, **each}.items()
            },
        }
        for each in containers
    ]


def expected(scrape: Scrape, site: Site, there: dict[int, Pod]) -> list[Json]:
    return [
        {
            "instance": f"10.77.0.{number}:{scrape.port}",
            "job": scrape.job,
            "namespace": pod.namespace,
            "pod": f"pod-{number}",
            "node": f"node-{number}",
            **({"pool": pod.labels[POOL_LABEL]} if POOL_LABEL in pod.labels else {}),
        }
        for number, pod in there.items()
        if pod in chosen(scrape, site)
    ]


def found_by_promtool(config: Json, folder: Path, seconds: int) -> list[Json]:
    """The targets that Prometheus would ask, with their labels, each once. promtool takes what
    discovery tells it within ``seconds``, and always waits for them."""
    config = {key: value for key, value in config.items() if key != "authorization"}
    path = folder / f"{config['job_name']}.yml"
    path.write_text(yaml.safe_dump({"scrape_configs": [config]}))
    run = ["promtool", "check", "service-discovery", f"--timeout={seconds}s", str(path)]
    done = subprocess.run([*run, config["job_name"]], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = [each["labels"] for each in json.loads(done.stdout) if each.get("labels")]
    assert all(each["__address__"] == each["instance"] for each in found)
    shown = [{k: v for k, v in each.items() if not k.startswith("__")} for each in found]
    return [json.loads(each) for each in sorted({json.dumps(s, sort_keys=True) for s in shown})]


def finds(config: Json, folder: Path, wanted: list[Json]) -> None:
    """Fail unless Prometheus finds these targets, within a while if the machine is busy."""
    assert wanted
    seconds = 2
    while (found := found_by_promtool(config, folder, seconds)) != in_order(wanted):
        assert seconds < 120, f"{config['job_name']}: {found}"
        seconds *= 4


def in_order(labels: list[Json]) -> list[Json]:
    return sorted(labels, key=lambda each: json.dumps(each, sort_keys=True))
