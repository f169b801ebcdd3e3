"""Rules across the site file and a pod network whose settings are known: Cilium and Calico.

Sources: Cilium 1.18, Documentation/network/kubernetes/kubeproxy-free.rst and concepts/networking/
ipam; pkg/option/config.go (keys of cilium-config). Calico 3.30, tigera/operator api/v1
(Installation) and pkg/controller/ippool/validation.go; docs "Enable the eBPF data plane". Multus
4.3, docs/quickstart.md.
"""

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from itertools import chain
from typing import NamedTuple
from urllib.parse import urlsplit

from schemas.facts.brought import every_extra, files_of
from schemas.facts.site import Site
from schemas.kubernetes.bodies import Json, items, mapping
from schemas.kubernetes.manifests import ManifestError, read_objects
from schemas.rules.finding import Finding, Path, TextPlace, say

_ENDPOINT = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")
_LOCAL = ("127.0.0.1", "localhost")
_POOLS = ("cluster-pool", "cluster-pool-v2beta")
_ROUTED = ("IPIP", "IPIPCrossSubnet", "None")
"""Encapsulations whose routes go by BGP."""


class _Network(NamedTuple):
    """What a pod network says: its ranges, whether it replaces kube-proxy (None: it asks for either
    itself), the address and port by which its pods reach the API server; ``at`` is the object that
    says it, and ``routed`` a pool whose routes would go by BGP, which is off."""

    name: str
    at: TextPlace
    ranges: tuple[str, ...]
    replaces: bool | None
    endpoints: frozenset[tuple[str, str]]
    exclusive: bool = False
    routed: str = ""


def known_pod_network(site: Site) -> Iterator[Finding]:
    """A pod network of which the settings are known fits the site's networks and its endpoint."""
    cluster = site.file.cluster
    pods = [*filter(None, (cluster.pods, cluster.pods6))]
    for each in chain.from_iterable(_networks(site, *source) for source in _sources(site)):
        if each.ranges and _merged(each.ranges) != _merged(pods):
            found = ", ".join(map(str, each.ranges))
            yield say("pod-network-other-range", each.at, each, found, " and ".join(pods))
        if each.routed:
            yield say("pod-network-without-routes", each.at, each, each.routed)
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


def _sources(site: Site) -> Iterator[tuple[str, str, Path]]:
    """The files that may hold a pod network, each with its text and the place that names it."""
    network = site.file.cluster.pod_network
    named = ("cluster", "pod_network", "chart" if network.chart else "manifests")
    yield network.file, site.texts.get(network.file, ""), named
    for place, entry in every_extra(site):
        yield from (file for file in files_of(site, entry, place) if file.path)


def _merged(ranges: Iterable[str]) -> set[object]:
    """The networks of both families, with those side by side as one."""
    try:
        found = [ip_network(each) for each in ranges]
    except ValueError:
        return {*ranges}
    four = [each for each in found if isinstance(each, IPv4Network)]
    six = [each for each in found if isinstance(each, IPv6Network)]
    return {*collapse_addresses(four), *collapse_addresses(six)}


def _networks(site: Site, file: str, text: str, named: Path) -> Iterator[_Network]:
    try:
        read = read_objects(text)
    except ManifestError:
        return
    objects = {(body["kind"], body["metadata"]["name"]): (body, line) for body, line in read}
    for body, line in objects.values():
        at = TextPlace(f"sites/{file}", line, 1, named)
        match body["kind"], body["metadata"]["name"]:
            case "ConfigMap", "cilium-config":
                yield _cilium(site, mapping(body, "data"), [each for each, _ in read], at)
            case "Installation", _ if "operator.tigera.io" in body["apiVersion"]:
                services, _ = objects.get(("ConfigMap", "kubernetes-services-endpoint"), ({}, 0))
                yield _calico(site, mapping(body, "spec"), mapping(services, "data"), at)


def _cilium(site: Site, settings: Json, objects: list[Json], at: TextPlace) -> _Network:
    cluster, ipam = site.file.cluster, settings.get("ipam", "cluster-pool")
    ranges: list[str] = []
    for family, pods in (("4", cluster.pods), ("6", cluster.pods6 or "::/0")):
        usual = {"4": ("true", "10.0.0.0/8"), "6": ("false", "fd00::/104")}[family]
        if settings.get(f"enable-ipv{family}", usual[0]) == "true":
            said = str(settings.get(f"cluster-pool-ipv{family}-cidr", usual[1]))
            ranges += said.replace(",", " ").split() if ipam in _POOLS else [pods]
    endpoints = set()
    for body in objects:
        pod = mapping(body, "spec", "template", "spec")
        for container in (*items(pod, "initContainers"), *items(pod, "containers")):
            env = {str(each.get("name")): each.get("value") for each in items(container, "env")}
            if body["metadata"]["name"].startswith("cilium") and _ENDPOINT[0] in env:
                endpoints.add((str(env[_ENDPOINT[0]]), str(env.get(_ENDPOINT[1]))))
    for url in str(settings.get("k8s-api-server-urls", "")).replace(",", " ").split():
        host, _, port = urlsplit(url).netloc.rpartition(":")
        endpoints.add((host.strip("[]"), port))
    replaces = settings.get("kube-proxy-replacement") in ("true", "strict")
    exclusive = settings.get("cni-exclusive", "true") == "true"
    found = tuple(ranges) if ipam in (*_POOLS, "kubernetes") else ()
    return _Network("Cilium", at, found, replaces, frozenset(endpoints), exclusive)


def _calico(site: Site, spec: Json, services: Json, at: TextPlace) -> _Network:
    network = mapping(spec, "calicoNetwork")
    own = mapping(spec, "cni").get("type", "Calico") == "Calico"
    every = items(network, "ipPools") if own else []
    pools = [each for each in every if "Workload" in (each.get("allowedUses") or ["Workload"])]
    host, port = (str(services.get(name, "")) for name in _ENDPOINT)
    if network.get("bpfNetworkBootstrap") == "Enabled":
        host, port = _LOCAL[0], str(site.file.cluster.port)
    managed = network.get("kubeProxyManagement") == "Enabled"
    off = network.get("bgp") == "Disabled" and network.get("clusterRoutingMode") != "Felix"
    ways = [(str(pool.get("cidr")), pool.get("encapsulation")) for pool in pools]
    by_bgp = _ROUTED if off else ()
    routed = [own for own, way in ways if way in by_bgp or (":" in own and way in _ROUTED[:2])]
    ranges = tuple(own for own, _ in ways)
    replaces = None if managed else network.get("linuxDataplane") == "BPF"
    endpoints = frozenset({(host, port)} if host else ())
    return _Network("Calico", at, ranges, replaces, endpoints, routed=", ".join(routed))
