"""The targets that Prometheus finds on a real API server, by Kubernetes' discovery."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.making.manifest import Json
from components.making.watch import Scrape
from components.monitoring.scrape import scrape_config
from components.schedulers.watch import KUEUE, VOLCANO
from controlplane import Client, ControlPlane
from tests.kit.monitoring_pods import GPU_OPERATOR, STRANGER, Pod, expected, finds, kubernetes, pods
from tests.kit.monitoring_sites import OPERATED, PLAIN, scrapes

needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool in PATH")


def placed(pod: Pod, number: int) -> Json:
    """A pod of this form, with one more container and an init container that nobody should ask."""
    ports = [{"name": name, "containerPort": port} for name, port in pod.ports.items()]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"pod-{number}", "namespace": pod.namespace, "labels": pod.labels},
        "spec": {
            "nodeName": f"node-{number}",
            "automountServiceAccountToken": False,
            "initContainers": [{"name": "first", "image": "example/first:1"}],
            "containers": [
                {"name": "main", "image": "example/main:1", "ports": ports},
                {"name": "other", "image": "example/other:1"},
            ],
        },
    }


def run_pod(client: Client, pod: Pod, number: int, phase: str = "Running") -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": pod.namespace}}
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "default", "namespace": pod.namespace},
    }
    client.apply(space)
    client.apply(account)
    client.apply(placed(pod, number))
    ip = f"10.77.0.{number}"
    status = {"phase": phase, "podIP": ip, "podIPs": [{"ip": ip}]}
    path = f"/api/v1/namespaces/{pod.namespace}/pods/pod-{number}/status"
    client.request("PATCH", path, {"status": status}, "application/merge-patch+json")


@pytest.fixture(scope="module")
def running(api: ControlPlane) -> Iterator[dict[int, Pod]]:
    """Pods of all programs of tokyo-1, of the site's own, and one that has ended."""
    there = dict(enumerate([*pods(OPERATED["tokyo-1"]), STRANGER], start=1))
    with api.client() as client:
        for number, pod in there.items():
            run_pod(client, pod, number)
        run_pod(client, GPU_OPERATOR, 250, "Succeeded")
        yield there
        for number, pod in {**there, 250: GPU_OPERATOR}.items():
            path = f"/api/v1/namespaces/{pod.namespace}/pods/pod-{number}"
            client.request("DELETE", f"{path}?gracePeriodSeconds=0")


FOUND = [
    pytest.param(name, scrape, id=f"{name}-{scrape.name}")
    for name in ("tokyo-1", "lab-1")
    for scrape in scrapes(PLAIN[name])
    if name == "tokyo-1" or scrape.name == "gpu-operator"
] + [pytest.param("tokyo-1", scrape, id=scrape.name) for scrape in (KUEUE, VOLCANO)]


@needs_promtool
@pytest.mark.controlplane
@pytest.mark.monitoring
@pytest.mark.skipif(not kubernetes(), reason="promtool was built without Kubernetes' discovery")
@pytest.mark.parametrize(("name", "scrape"), FOUND)
def test_prometheus_finds_the_pods_on_a_real_api_server(
    api: ControlPlane, running: dict[int, Pod], tmp_path: Path, name: str, scrape: Scrape
) -> None:
    """As written, but for the kubeconfig in place of a pod's own rights, and the token."""
    config = scrape_config(scrape)
    for discovery in config["kubernetes_sd_configs"]:
        discovery["kubeconfig_file"] = str(api.kubeconfig([]))
    finds(config, tmp_path, expected(scrape, PLAIN[name], running))
