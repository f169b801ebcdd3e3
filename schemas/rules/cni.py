"""Rules across the site file and a pod network whose settings are known: Cilium and Calico.

Sources: Cilium 1.18, Documentation/network/kubernetes/kubeproxy-free.rst and concepts/networking/
ipam; pkg/option/config.go (keys of cilium-config). Calico 3.30, api/v1 of tigera/operator
(Installation) and docs "Enable the eBPF data plane". Multus 4.3, docs/quickstart.md.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from schemas.facts.site import Site
from schemas.kubernetes.manifests import ManifestError, read_objects
from schemas.rules.finding import Finding, TextPlace, say

Json = dict[str, Any]
_ENDPOINT = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")
_LOCAL = ("127.0.0.1", "localhost")


class _Network(NamedTuple):
    """What a pod network says: its ranges, whether it replaces kube-proxy, the address and port by
    which its pods reach the API server; ``at`` is the object that says it."""

    name: str
    at: TextPlace
    ranges: tuple[str, ...]
    replaces: bool
    endpoints: frozenset[tuple[str, str]]
    exclusive: bool = False


def known_pod_network(site: Site) -> Iterator[Finding]:
    """A pod network of which the settings are known fits the site's networks and its endpoint."""
    cluster = site.file.cluster
    for each in _networks(site):
        if each.ranges and set(each.ranges) != {cluster.pods}:
            yield say("pod-network-other-range", each.at, each, ", ".join(each.ranges), cluster)
        if each.replaces == cluster.kube_proxy:
            both = "and kube-proxy would both answer" if each.replaces else "does not answer"
            value = "false" if each.replaces else "true"
            yield say("pod-network-kube-proxy", ("cluster", "kube_proxy"), each, both, value)
        right = {(host, str(cluster.port)) for host in (cluster.endpoint, *_LOCAL)}
        if each.replaces and not (each.endpoints and each.endpoints <= right):
            found = ", ".join(":".join(pair) for pair in sorted(each.endpoints)) or "no address"
            yield say("pod-network-other-endpoint", each.at, each, found, cluster)
        if each.exclusive and any(pool.network_devices.sriov for pool in site.file.pools):
            yield say("pod-network-without-multus", each.at, each)


def _networks(site: Site) -> Iterator[_Network]:
    network = site.file.cluster.pod_network
    named = ("cluster", "pod_network", "chart" if network.chart else "manifests")
    try:
        items = read_objects(site.texts.get(network.file, ""))
    except ManifestError:
        return
    objects = {(body["kind"], body["metadata"]["name"]): (body, line) for body, line in items}
    for body, line in objects.values():
        at = TextPlace(f"sites/{network.file}", line, 1, named)
        match body["kind"], body["metadata"]["name"]:
            case "ConfigMap", "cilium-config":
                yield _cilium(_map(body, "data"), [each for each, _ in items], at)
            case "Installation", _ if "operator.tigera.io" in body["apiVersion"]:
                calico = _map(body, "spec", "calicoNetwork")
                services, _ = objects.get(("ConfigMap", "kubernetes-services-endpoint"), ({}, 0))
                data = _map(services, "data")
                host, port = (str(data.get(name, "")) for name in _ENDPOINT)
                yield _Network(
                    "Calico",
                    at,
                    tuple(str(each.get("cidr")) for each in _maps(calico, "ipPools")),
                    calico.get("linuxDataplane") == "BPF",
                    frozenset({(host, port)} if host else ()),
                )


def _cilium(settings: Json, objects: list[Json], at: TextPlace) -> _Network:
    pool = settings.get("ipam") in ("cluster-pool", "cluster-pool-v2beta", None)
    ranges = str(settings.get("cluster-pool-ipv4-cidr", "10.0.0.0/8")).replace(",", " ").split()
    endpoints = set()
    for body in objects:
        pod = _map(body, "spec", "template", "spec")
        for container in (*_maps(pod, "initContainers"), *_maps(pod, "containers")):
            env = {str(each.get("name")): each.get("value") for each in _maps(container, "env")}
            if body["metadata"]["name"].startswith("cilium") and _ENDPOINT[0] in env:
                endpoints.add((str(env[_ENDPOINT[0]]), str(env.get(_ENDPOINT[1]))))
    replaces = settings.get("kube-proxy-replacement") in ("true", "strict")
    exclusive = settings.get("cni-exclusive", "true") == "true"
    found = tuple(ranges) if pool else ()
    return _Network("Cilium", at, found, replaces, frozenset(endpoints), exclusive)


def _maps(value: Json, key: str) -> list[Json]:
    found = value.get(key)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _map(value: Json, *keys: str) -> Json:
    for key in keys:
        found = value.get(key)
        value = found if isinstance(found, dict) else {}
    return value
