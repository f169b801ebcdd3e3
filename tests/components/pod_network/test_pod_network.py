"""How the pod network's manifests get into a cluster: as they are, and kept there."""

import copy
from dataclasses import replace
from typing import Any

import pytest
import yaml

from components.making.manifest import Manifest, Target
from components.pod_network.objects import objects
from schemas.facts.site import Site
from schemas.kubernetes.manifests import read_manifests
from schemas.kubernetes.objects import check_object
from schemas.model.vocabulary import PodNetworkInstall
from schemas.rules.cni import known_pod_network
from schemas.rules.finding import Finding
from tests.golden import every_site, of_kind
from tests.golden import objects as every_object
from tests.kit.charts import NETWORK, with_extra
from tests.kit.repository import all_sites


def text_of(site: Site) -> str:
    return site.texts[site.file.cluster.pod_network.manifests]


def installed(site: Site, install: PodNetworkInstall) -> list[Manifest]:
    """The pod network of a site, installed in another way."""
    network = site.file.cluster.pod_network.model_copy(update={"install": install})
    cluster = site.file.cluster.model_copy(update={"pod_network": network})
    return objects(
        Site(
            site.file.model_copy(update={"cluster": cluster}),
            site.hosts,
            site.release,
            site.hardware,
            site.texts,
        )
    )


@pytest.mark.parametrize("name", sorted(all_sites()))
def test_cluster_api_gets_the_file_as_it_is(name: str) -> None:
    site = all_sites()[name]
    (config,) = (each for each in objects(site) if each.kind == "ConfigMap")
    assert list(config.body["data"].values()) == [text_of(site)]
    # Cluster API peeks at 32 bytes of each value, and fails where there are fewer.
    assert all(len(text.encode()) >= 32 for text in config.body["data"].values())
    assert config.target is Target.MANAGEMENT


@pytest.mark.parametrize("name", sorted(all_sites()))
def test_the_set_selects_the_cluster_of_its_site_and_names_the_file(name: str) -> None:
    site = all_sites()[name]
    (resources,) = of_kind(site, "ClusterResourceSet")
    (config,) = (each for each in objects(site) if each.kind == "ConfigMap")
    (cluster,) = of_kind(site, "Cluster")
    selector = resources.body["spec"]["clusterSelector"]["matchLabels"]
    assert selector
    assert selector.items() <= cluster.body["metadata"]["labels"].items()
    named = [(each["kind"], each["name"]) for each in resources.body["spec"]["resources"]]
    assert named == [("ConfigMap", config.key[3])]
    # A missing file would count as applied: namespaces have to be the same.
    spaces = {each.body["metadata"]["namespace"] for each in (config, resources, cluster)}
    assert spaces == {site.name}


def test_no_set_selects_the_cluster_of_another_site() -> None:
    for site in all_sites().values():
        (resources,) = of_kind(site, "ClusterResourceSet")
        selector = resources.body["spec"]["clusterSelector"]["matchLabels"].items()
        for other in all_sites().values():
            (cluster,) = of_kind(other, "Cluster")
            selected = selector <= cluster.body["metadata"]["labels"].items()
            assert selected == (other is site)


def without_ours(body: dict[str, Any]) -> dict[str, Any]:
    """An object without the labels and annotations that are Foresite's."""
    body = copy.deepcopy(body)
    for field, ours in (
        ("labels", ("app.kubernetes.io/managed-by", "foresite.dev/")),
        ("annotations", ("argocd.argoproj.io/", "kustomize.toolkit.fluxcd.io/", "pulumi.com/")),
    ):
        given = body["metadata"].pop(field, None) or {}
        left = {key: value for key, value in given.items() if not key.startswith(ours)}
        body["metadata"] |= {field: left} if left else {}
    return body


@pytest.mark.parametrize("name", sorted(every_site()))
def test_what_is_registered_directly_is_what_the_file_says_with_our_labels(name: str) -> None:
    site = every_site()[name]
    made = installed(site, PodNetworkInstall.DIRECT)
    read: list[dict[str, Any]] = []
    for document in yaml.load_all(text_of(site), Loader=yaml.CSafeLoader):
        read += document["items"] if document["kind"] == "List" else [document]
    assert [without_ours(each.body) for each in made] == [without_ours(each) for each in read]
    for each in made:
        labels = each.body["metadata"]["labels"]
        assert labels["app.kubernetes.io/managed-by"] == "foresite"
        assert labels["foresite.dev/site"] == site.name
        assert each.target is Target.SITE
        assert each.protect  # without its network no node is ready


def test_labels_of_an_object_stay_beside_ours() -> None:
    config = next(m for m in of_kind(every_site()["edge-1"], "ConfigMap"))
    assert config.body["metadata"]["labels"]["app.kubernetes.io/name"] == "pod-network"


@pytest.mark.parametrize("notes", ["", "{}", "[]", "[x]", "x", "{x: 1}", "{x: null}"])
def test_odd_annotations_of_a_manifest_are_for_the_schemas_to_judge(notes: str) -> None:
    site = every_site()["edge-1"]
    path = site.file.cluster.pod_network.manifests
    text = f"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: x\n  annotations: {notes}\n"
    (made,) = objects(Site(site.file, site.hosts, site.release, site.hardware, {path: text}))
    assert bool(check_object(made.body)) == (notes not in {"", "{}", "[]"})


def test_objects_of_one_name_in_two_namespaces_are_two() -> None:
    site = every_site()["edge-1"]
    path = site.file.cluster.pod_network.manifests
    text = "".join(
        f"---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: x, namespace: {space}}}\n"
        for space in "ab"
    )
    made = objects(Site(site.file, site.hosts, site.release, site.hardware, {path: text}))
    assert len({each.name for each in made}) == len({each.key for each in made}) == 2


def test_making_objects_leaves_the_manifests_that_were_read_as_they_are() -> None:
    site = every_site()["edge-1"]
    before = copy.deepcopy(read_manifests(text_of(site)))
    first = [each.body for each in objects(site)]
    assert read_manifests(text_of(site)) == before
    assert [each.body for each in objects(site)] == first


def test_a_site_has_its_pod_network_on_one_cluster_only() -> None:
    for site in every_site().values():
        direct = site.file.cluster.pod_network.install is PodNetworkInstall.DIRECT
        targets = {each.target for each in objects(site)}
        assert targets == {Target.SITE if direct else Target.MANAGEMENT}
        elsewhere = {each.key for each in every_object(site) if each not in objects(site)}
        assert elsewhere.isdisjoint(each.key for each in objects(site))


@pytest.mark.parametrize(
    "network",
    [
        {"ipPools": [{"cidr": "10.64.0.0/12"}, {"cidr": "fd00:64::/48"}]},
        {"ipPools": [{"cidr": "10.64.0.0/13"}, {"cidr": "10.72.0.0/13"}, {"cidr": "fd00:64::/48"},
                     {"cidr": "10.9.0.0/24", "allowedUses": ["LoadBalancer"]}]},
        {"bgp": "Disabled", "ipPools": [{"cidr": "10.64.0.0/12", "encapsulation": "VXLAN"},
                                        {"cidr": "fd00:64::/48", "encapsulation": "VXLAN"}]},
        {"linuxDataplane": "BPF", "kubeProxyManagement": "Enabled"},
        {},
    ],
)  # fmt: skip
def test_calico_of_both_families_fits_a_site_of_both(network: dict[str, Any]) -> None:
    assert calico(network, kube_proxy=True) == []


def test_calico_finds_the_api_server_by_itself_where_it_says_so() -> None:
    ebpf = {"linuxDataplane": "BPF"}
    assert len(calico(ebpf, kube_proxy=False)) == 1
    assert calico({**ebpf, "bpfNetworkBootstrap": "Enabled"}, kube_proxy=False) == []


def calico(network: dict[str, Any], *, kube_proxy: bool) -> list[Finding]:
    """What is told of Calico at a site of both families."""
    body = {"apiVersion": "operator.tigera.io/v1", "kind": "Installation"}
    text = yaml.safe_dump(
        {**body, "metadata": {"name": "default"}, "spec": {"calicoNetwork": network}}
    )
    site = all_sites()["lab-1"]
    more = {"pods6": "fd00:64::/48", "services6": "fd00:96::/112", "kube_proxy": kube_proxy}
    cluster = site.file.cluster.model_copy(update=more)
    file = site.file.model_copy(update={"cluster": cluster})
    texts = {**site.texts, cluster.pod_network.file: text}
    return list(known_pod_network(replace(site, file=file, texts=texts)))


def test_cilium_may_name_urls_of_the_api_server() -> None:
    urls = "k8s-api-server-urls: https://10.18.0.10:6443\n  ipam: cluster-pool"
    text = NETWORK.replace("ipam: cluster-pool", urls).replace("KUBERNETES_SERVICE_HOST", "HOST")
    site = with_extra(all_sites()["lab-1"], text)
    cluster = site.file.cluster.model_copy(update={"kube_proxy": False})
    file = site.file.model_copy(update={"cluster": cluster})
    # Flannel, the pod network of the site, leaves Services to kube-proxy, and says nothing of it.
    assert list(known_pod_network(replace(site, file=file))) == []
    assert len(list(known_pod_network(site))) == 1
