"""The data for a host's first boot: cloud-init, kubeadm, the kubelet, containerd and systemd read
it, each by its own rules, as it is meant.
"""

import json
import re
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from components.making.manifest import Json
from schemas.facts.site import Site
from schemas.model.first_boot import Proxy
from schemas.model.kubelet import Kubelet
from schemas.model.vocabulary import Role, VirtualIp
from tests.golden import (
    MANAGED,
    bootstraps,
    every_site,
    of_kind,
    one,
    pool_of,
    pools,
    walk,
    with_file,
    with_pool,
)

KUBE_VIP = "/etc/kubernetes/manifests/kube-vip.yaml"


@pytest.fixture(params=sorted(every_site()))
def site(request: pytest.FixtureRequest) -> Site:
    return every_site()[request.param]


def registrations(config: Json) -> list[Json]:
    return [
        config[key]["nodeRegistration"]
        for key in ("initConfiguration", "joinConfiguration")
        if key in config
    ]


def file_of(config: Json, path: str) -> str:
    (content,) = [each["content"] for each in config["files"] if each["path"] == path]
    return str(content)


def node_labels(registration: Json) -> dict[str, str]:
    (text,) = [a["value"] for a in registration["kubeletExtraArgs"] if a["name"] == "node-labels"]
    assert len(text) <= 1024  # KubeadmConfig: Arg.value
    return dict(label.split("=") for label in text.split(","))


def test_only_the_first_control_plane_runs_init_and_workers_only_join(site: Site) -> None:
    for name, config in bootstraps(site).items():
        control_plane = pools(site)[name].role is Role.CONTROL_PLANE
        assert ("initConfiguration" in config) == control_plane
        assert "joinConfiguration" in config
        # Cluster API fills in the rest from the Cluster.
        told = config.get("clusterConfiguration", {})
        assert not told or (control_plane and told.keys() <= {"apiServer", "scheduler"})


def test_whatever_looks_like_jinja_is_a_value_that_the_host_has(site: Site) -> None:
    known = None
    for manifest in of_kind(site, "Metal3DataTemplate"):
        data = manifest.body["spec"]["metaData"]
        given = [entry for kind in data.values() for entry in kind]
        assert {entry["object"] for entry in given} == {"baremetalhost"}
        keys = {entry["key"] for entry in given}
        known = keys if known is None else known & keys
        for entry in data["fromLabels"]:
            for host in of_kind(site, "BareMetalHost"):
                assert host.body["metadata"]["labels"][entry["label"]]
    assert known
    used, mark = set(), re.compile(r"\{\{ ds\.meta_data\.([a-z_]+) \}\}")
    for config in bootstraps(site).values():
        for path, text in walk(config):
            if isinstance(text, str):
                used |= set(mark.findall(text))
                assert not re.search(r"\{\{|\{%|\{#|\}\}|%\}|#\}", mark.sub("", text)), path
    # The Bare Metal Operator gives the uuid itself (pkg/provisioner/ironic/ironic.go).
    assert {"uuid", "zone", "rack", "local_hostname"} <= used <= known | {"uuid"}


def test_nodes_are_found_by_uuid_and_named_after_their_host(site: Site) -> None:
    for config in bootstraps(site).values():
        for registration in registrations(config):
            labels = node_labels(registration)
            assert labels["metal3.io/uuid"] == "{{ ds.meta_data.uuid }}"
            assert labels["topology.kubernetes.io/zone"] == "{{ ds.meta_data.zone }}"
            assert labels["topology.kubernetes.io/region"] == site.file.region
            assert registration["name"] == "{{ ds.meta_data.local_hostname }}"


def may_set(key: str) -> bool:
    """True if a kubelet may give its node a label (k8s.io/kubelet, well_known_labels.go)."""
    domain = key.partition("/")[0] if "/" in key else ""
    if not f".{domain}".endswith((".kubernetes.io", ".k8s.io")):
        return True
    if f".{domain}".endswith((".kubelet.kubernetes.io", ".node.kubernetes.io")):
        return True
    return key in {
        "kubernetes.io/arch",
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    }


def synced_labels(site: Site, pool: str) -> dict[str, str]:
    """The labels that Cluster API brings from a pool's Machines to its nodes."""
    for manifest in of_kind(site, *MANAGED):
        if pool_of(site, manifest.body).name == pool:
            spec = manifest.body["spec"]
            given = (spec.get("machineTemplate") or spec["template"])["metadata"]["labels"]
    return {key: v for key, v in given.items() if not key.startswith("cluster.x-k8s.io/")}


def test_each_label_goes_the_one_way_that_is_open_to_it(site: Site) -> None:
    # util/labels/helpers.go of Cluster API: the role prefix, and two domains with sub-domains.
    way = re.compile(
        r"node-role\.kubernetes\.io/.*"
        r"|(.*\.)?(node-restriction\.kubernetes\.io|node\.cluster\.x-k8s\.io)/.*"
    )
    for name, config in bootstraps(site).items():
        synced = synced_labels(site, name)
        assert all(map(way.fullmatch, synced)), synced
        assert synced["node.cluster.x-k8s.io/pool"] == name
        for registration in registrations(config):
            by_kubelet = node_labels(registration)
            assert all(map(may_set, by_kubelet)), by_kubelet
            assert not any(map(way.fullmatch, by_kubelet)), by_kubelet
            assert pools(site)[name].labels.items() <= {**by_kubelet, **synced}.items()


def test_no_label_of_a_pool_takes_the_place_of_one_that_machines_are_found_by() -> None:
    site = every_site()["tsukuba-1"]
    other = with_pool(site, "cpu", labels={"metal3.io/uuid": "x", "foresite.dev/rack": "x"})
    config = bootstraps(other)["cpu"]
    labels = node_labels(config["joinConfiguration"]["nodeRegistration"])
    assert labels["metal3.io/uuid"] == "{{ ds.meta_data.uuid }}"
    assert labels["foresite.dev/rack"] == "{{ ds.meta_data.rack }}"


def test_files_and_arguments_keep_the_limits_of_the_bootstrap_provider(site: Site) -> None:
    for config in bootstraps(site).values():
        paths = [each["path"] for each in config["files"]]
        assert len(set(paths)) == len(paths)
        for each in config["files"]:
            assert 0 < len(each["content"]) <= 10240, each["path"]
            # It becomes a block of text in cloud-config, whose first line sets the indent.
            assert not each["content"][0].isspace(), each["path"]
        for registration in registrations(config):
            names = [argument["name"] for argument in registration["kubeletExtraArgs"]]
            assert len(set(names)) == len(names)
        for key in ("preKubeadmCommands", "postKubeadmCommands"):
            assert config.get(key) != []


def test_what_cloud_init_writes_without_quotes_needs_none(site: Site) -> None:
    for config in bootstraps(site).values():
        for user in config["users"]:
            for text in (user["name"], user["sudo"], user["shell"], *user["sshAuthorizedKeys"]):
                assert yaml.safe_load(f"- {text}") == [text]


def test_commands_are_commands(site: Site) -> None:
    commands = [
        command
        for config in bootstraps(site).values()
        for key in ("preKubeadmCommands", "postKubeadmCommands")
        for command in config.get(key, ())
    ]
    for command in sorted(set(commands)):
        done = subprocess.run(["sh", "-n", "-c", command], capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b""), command


@pytest.mark.parametrize("proxy", [None, Proxy(http="http://p.example:1")])
@pytest.mark.parametrize("certificates", [[], ["x.pem"]])
def test_containerd_starts_anew_with_its_proxy_and_its_certificates(
    proxy: Proxy | None, certificates: list[str]
) -> None:
    site = every_site()["tsukuba-1"]
    first = site.file.first_boot.model_copy(
        update={"proxy": proxy, "ca_certificates": certificates}
    )
    other = replace(with_file(site, first_boot=first), texts={**site.texts, "x.pem": "x\n"})
    for name, trust in (("mncore2", "update-ca-certificates"), ("cpu", "update-ca-trust extract")):
        assert bootstraps(other)[name].get("preKubeadmCommands", []) == [
            *([trust] if certificates else []),
            *(["systemctl daemon-reload"] if proxy else []),
            *(["systemctl restart containerd"] if proxy or certificates else []),
        ]


def share(text: str) -> float:
    assert text.endswith("%")
    return float(text.removesuffix("%"))


def test_the_kubelet_patch_is_a_kubelet_configuration_in_range(site: Site) -> None:
    for config in bootstraps(site).values():
        for key in ("initConfiguration", "joinConfiguration"):
            if key in config:
                folder = config[key]["patches"]["directory"]
        patch = yaml.safe_load(file_of(config, f"{folder}/kubeletconfiguration+strategic.yaml"))
        assert patch["apiVersion"] == "kubelet.config.k8s.io/v1beta1"
        assert patch["kind"] == "KubeletConfiguration"
        assert 10 <= patch["maxPods"] <= 250
        low, high = patch["imageGCLowThresholdPercent"], patch["imageGCHighThresholdPercent"]
        evict = patch["evictionHard"]
        # Once one signal is set the kubelet forgets its defaults of the others.
        assert evict.keys() == {
            "imagefs.available",
            "imagefs.inodesFree",
            "memory.available",
            "nodefs.available",
            "nodefs.inodesFree",
        }
        assert 0 < low < high < 100 - share(evict["imagefs.available"])
        assert all(0 < share(v) < 100 for k, v in evict.items() if k != "memory.available")
        for text in (
            evict["memory.available"],
            patch["containerLogMaxSize"],
            *patch["systemReserved"].values(),
        ):
            assert re.fullmatch(r"[1-9][0-9]*(m|[kKMGT]i?)?", text)


def test_what_a_pool_says_of_its_kubelet_is_what_the_patch_says() -> None:
    settings = Kubelet.model_validate(
        {"max_pods": 33, "container_log_max_size": "7Mi", "reserved_cpu": "1500m",
         "reserved_memory": "3Gi", "image_gc_high_percent": 61, "image_gc_low_percent": 51,
         "eviction_hard": {"memory": "9Gi", "nodefs_percent": 4, "imagefs_percent": 6}}
    )  # fmt: skip
    config = bootstraps(with_pool(every_site()["lab-1"], "lab", kubelet=settings))["lab"]
    patch = yaml.safe_load(config["files"][0]["content"])
    assert (patch["maxPods"], patch["containerLogMaxSize"]) == (33, "7Mi")
    assert patch["systemReserved"] == {"cpu": "1500m", "memory": "3Gi"}
    assert (patch["imageGCHighThresholdPercent"], patch["imageGCLowThresholdPercent"]) == (61, 51)
    evict = patch["evictionHard"]
    assert evict["memory.available"] == "9Gi"
    assert (evict["nodefs.available"], evict["imagefs.available"]) == ("4%", "6%")


def test_containerd_asks_the_mirror_for_every_image(site: Site) -> None:
    mirror = site.file.sources.registry_mirror
    path = "/etc/containerd/certs.d/_default/hosts.toml"
    for config in bootstraps(site).values():
        if mirror is None:
            assert path not in {each["path"] for each in config["files"]}
        else:
            hosts = tomllib.loads(file_of(config, path))
            assert hosts == {"host": {mirror: {"capabilities": ["pull", "resolve"]}}}


def environment(unit: str) -> dict[str, str]:
    """The variables of a systemd unit, as systemd reads them."""
    section, *lines = unit.splitlines()
    assert section == "[Service]"
    found = {}
    for line in lines:
        match = re.fullmatch(r'Environment="([A-Z_]+)=([^"\\]*)"', line)
        assert match, line
        assert "%" not in match[2].replace("%%", "")
        found[match[1]] = match[2].replace("%%", "%")
    return found


def test_containerd_goes_through_the_proxy_but_not_to_the_cluster_or_the_mirror(site: Site) -> None:
    path = "/etc/systemd/system/containerd.service.d/10-proxy.conf"
    for pool in site.file.pools:
        boot, config = site.first_boot(pool), bootstraps(site)[pool.name]
        if boot.proxy is None:
            assert path not in {each["path"] for each in config["files"]}
            continue
        variables = environment(file_of(config, path))
        assert variables["HTTP_PROXY"] == variables["HTTPS_PROXY"] == boot.proxy.http
        direct = variables["NO_PROXY"].split(",")
        cluster = site.file.cluster
        assert {cluster.endpoint, cluster.pods, cluster.services, "127.0.0.1"} <= set(direct)
        assert set(boot.proxy.exclude) <= set(direct)
        mirror = site.file.sources.registry_mirror
        assert mirror is None or urlsplit(mirror).hostname in direct
        # A zone in it would re-image every host when one is added.
        assert not {zone.network for zone in site.file.zones} & set(direct)


def test_hosts_trust_the_certificates_as_their_files_have_them(site: Site) -> None:
    folders = {"debian": "/usr/local/share/ca-certificates/", "rhel": "/etc/pki/ca-trust/source/"}
    for pool in site.file.pools:
        folder = folders[site.operating_system(pool).family.value]
        config = bootstraps(site)[pool.name]
        found = [each for each in config["files"] if each["path"].startswith(folder)]
        wanted = [site.texts[path] for path in site.first_boot(pool).ca_certificates]
        assert [each["content"] for each in found] == wanted
        if folder.startswith("/usr"):  # update-ca-certificates takes no other ending
            assert all(each["path"].endswith(".crt") for each in found)


# --- the virtual IP -------------------------------------------------------------------------------

KUBE_VIP = "/etc/kubernetes/manifests/kube-vip.yaml"


def test_kube_vip_announces_the_endpoint_unless_a_load_balancer_does(site: Site) -> None:
    configs = bootstraps(site)
    holders = {
        name for name, c in configs.items() if any(f["path"] == KUBE_VIP for f in c["files"])
    }
    arp = site.file.cluster.virtual_ip is VirtualIp.ARP
    assert holders == ({site.control_plane.name} if arp else set())
    if not arp:
        assert "kube-vip" not in json.dumps(configs)
        return
    pod = yaml.safe_load(file_of(configs[site.control_plane.name], KUBE_VIP))
    (container,) = pod["spec"]["containers"]
    values = {each["name"]: each.get("value") for each in container["env"]}
    endpoint = one(site, "Metal3Cluster")["spec"]["controlPlaneEndpoint"]
    assert (values["address"], values["port"]) == (endpoint["host"], str(endpoint["port"]))
    assert all(value is None or isinstance(value, str) for value in values.values())
    assert container["image"] == site.release.kube_vip
    (mount,), (volume,) = container["volumeMounts"], pod["spec"]["volumes"]
    assert mount["name"] == volume["name"]


@pytest.mark.parametrize("first", [True, False])
def test_kube_vip_starts_with_the_rights_that_only_the_first_machine_has(
    tmp_path: Path, first: bool
) -> None:
    config = bootstraps(every_site()["tokyo-1"])["control"]
    before = file_of(config, KUBE_VIP)
    manifest, marker = tmp_path / "kube-vip.yaml", tmp_path / "kubeadm.yaml"
    manifest.write_text(before)
    if first:
        marker.touch()

    def run(command: str) -> str:
        for path, stand_in in ((KUBE_VIP, manifest), ("/run/kubeadm/kubeadm.yaml", marker)):
            assert path in command
            command = command.replace(path, str(stand_in))
        subprocess.run(["sh", "-ec", command], check=True)
        return manifest.read_text()

    swapped = run(config["preKubeadmCommands"][-1])
    then, now = yaml.safe_load(before), yaml.safe_load(swapped)
    path = now["spec"]["volumes"][0]["hostPath"].pop("path")
    assert path == f"/etc/kubernetes/{'super-' if first else ''}admin.conf"
    assert then["spec"]["volumes"][0]["hostPath"].pop("path") == "/etc/kubernetes/admin.conf"
    assert now == then  # above all, the path inside the container stays
    assert run(config["postKubeadmCommands"][0]) == before
