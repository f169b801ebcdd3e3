"""Invariants of the objects of any site: names, references, owners, hosts and addresses.

The rules are those of Cluster API and Metal3, written here a second time: a fault in a component
shows as a difference between the two. What hosts are told at their first boot, rollouts and
changes have files of their own.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network

import pytest

from components.making.manifest import Json, Manifest, Target, annotate, hash_name, prune
from components.site import COMPONENTS
from schemas.facts.site import Site
from schemas.kubernetes.objects.check import check_object
from schemas.model.hardware import BmcProtocol, RootDisk
from tests.golden import (
    MANAGED,
    every_site,
    name_of,
    objects,
    of_kind,
    one,
    pool_of,
    pools,
    walk,
    with_file,
)

CLUSTER_SCOPED = {
    "ClusterRole",
    "Namespace",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
}
DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
PROTECTED = {
    "BareMetalHost",
    "Cluster",
    "IPPool",
    "KubeadmControlPlane",
    "MachineDeployment",
    "Metal3Cluster",
    "Namespace",
}
"""Kinds whose deletion destroys machines or their addresses."""
KEPT = {"KubeadmConfigTemplate", "Metal3DataTemplate", "Metal3MachineTemplate"}
"""Kinds that old MachineSets may still refer to."""


@pytest.fixture(params=sorted(every_site()))
def site(request: pytest.FixtureRequest) -> Site:
    return every_site()[request.param]


def machines(site: Site) -> list[Manifest]:
    return [manifest for manifest in objects(site) if manifest.target is Target.MANAGEMENT]


# --- every object ---------------------------------------------------------------------------------


def test_no_two_objects_have_one_key_or_one_logical_name(site: Site) -> None:
    every = objects(site)
    assert not [key for key, count in Counter(m.key for m in every).items() if count > 1]
    assert not [name for name, count in Counter(m.name for m in every).items() if count > 1]


def test_an_object_names_the_namespace_it_lives_in(site: Site) -> None:
    for manifest in machines(site):
        namespace = manifest.body["metadata"].get("namespace")
        assert (namespace is None) == (manifest.kind in CLUSTER_SCOPED), manifest.name
        assert namespace in {None, site.name}, manifest.name
    (own,) = (each for each in machines(site) if each.kind == "Namespace")
    assert own.body["metadata"]["name"] == site.name


def test_no_object_holds_an_empty_map_or_null(site: Site) -> None:
    for manifest in machines(site):
        for path, value in walk(manifest.body):
            assert value is not None, (manifest.name, path)
            assert value != {}, (manifest.name, path)


def test_names_fit_wherever_a_name_becomes_a_label(site: Site) -> None:
    for manifest in machines(site):
        assert DNS_LABEL.fullmatch(name_of(manifest.body)), manifest.key


def test_every_object_says_whose_it_is(site: Site) -> None:
    for manifest in objects(site):
        labels = manifest.body["metadata"]["labels"]
        assert labels["app.kubernetes.io/managed-by"] == "foresite"
        assert labels["foresite.dev/site"] == site.name
        assert labels["foresite.dev/component"] in COMPONENTS


def test_logical_names_outlive_versions_images_and_the_name_of_the_site(site: Site) -> None:
    systems = {
        name: system.model_copy(
            update={
                "images": {
                    version: image.model_copy(update={"sha256": "0" * 64, "file": "x.raw"})
                    for version, image in system.images.items()
                }
            }
        )
        for name, system in site.release.operating_systems.items()
    }
    other = replace(
        site,
        file=site.file.model_copy(update={"site": "elsewhere-9", "region": "nowhere"}),
        release=site.release.model_copy(update={"operating_systems": systems, "kube_vip": "x"}),
    )
    assert [m.name for m in objects(other)] == [m.name for m in objects(site)]
    hosts = {host.name for host in site.hosts}
    for manifest in machines(site):
        kind, _, rest = manifest.name.partition("/")
        assert kind == manifest.kind
        if rest.removesuffix("-bmc") not in hosts:  # and their BMCs
            assert site.name not in rest
            assert not re.search(r"v?\d+\.\d+|-[0-9a-f]{8}$", rest), manifest.name


def test_the_order_of_objects_is_that_of_the_files(site: Site) -> None:
    again = replace(site, hosts=tuple(site.hosts))
    assert [m.key for m in objects(site)] == [m.key for m in objects(again)]
    assert [m.key[3] for m in of_kind(site, "BareMetalHost")] == [h.name for h in site.hosts]
    names = [m.body["metadata"]["name"] for m in of_kind(site, "MachineHealthCheck")]
    assert names == [pool.name for pool in site.file.pools]


# --- what is destroyed, and what is not ours ------------------------------------------------------


def test_what_wipes_machines_is_protected_and_what_machines_refer_to_is_kept(site: Site) -> None:
    for manifest in machines(site):
        assert manifest.protect == (manifest.kind in PROTECTED), manifest.name
        # With an ExternalSecret goes the Secret of a BMC that still has a host to wipe.
        assert manifest.keep == (manifest.kind in KEPT | {"ExternalSecret"}), manifest.name


def test_argo_cd_and_flux_prune_nothing_that_is_protected_or_kept(site: Site) -> None:
    for manifest in objects(site):
        annotations = manifest.body["metadata"].get("annotations", {})
        options = set(annotations.get("argocd.argoproj.io/sync-options", "").split(","))
        guard = manifest.protect or manifest.keep
        assert ({"Prune=false", "Delete=false"} <= options) == guard, manifest.name
        flux = annotations.get("kustomize.toolkit.fluxcd.io/prune")
        assert flux == ("disabled" if guard else None), manifest.name


def test_guards_leave_what_a_manifest_already_asks_of_argo_cd() -> None:
    key = "argocd.argoproj.io/sync-options"
    given = {"name": "x", "annotations": {key: "ServerSideApply=true, Prune=true", "own": "1"}}
    (made,) = annotate([Manifest("X", {"kind": "X", "metadata": given}, protect=True)])
    assert made.body["metadata"]["annotations"] == {
        key: "Prune=false,Delete=false,ServerSideApply=true",
        "kustomize.toolkit.fluxcd.io/prune": "disabled",
        "pulumi.com/deletionPropagationPolicy": "background",
        "pulumi.com/patchFieldManager": "foresite",
        "own": "1",
    }
    assert given["annotations"] == {key: "ServerSideApply=true, Prune=true", "own": "1"}
    (made,) = annotate([Manifest("X", {"kind": "X", "metadata": {"annotations": None}}, keep=True)])
    assert made.body["metadata"]["annotations"][key] == "Prune=false,Delete=false"


def test_names_change_with_content_exactly_where_objects_are_kept(site: Site) -> None:
    for manifest in of_kind(site, *KEPT):
        logical = manifest.name.partition("/")[2].replace("/", "-")
        assert name_of(manifest.body) == hash_name(logical, manifest.body["spec"])
    assert hash_name("x", {"a": {"b": 1, "c": 2}}) == hash_name("x", {"a": {"c": 2, "b": 1}})
    assert hash_name("x", {"a": [1, 2]}) != hash_name("x", {"a": [2, 1]})
    assert hash_name("x", {"a": "1"}) != hash_name("x", {"a": 1})


def test_a_host_leaves_to_its_provider_what_the_provider_writes(site: Site) -> None:
    # CAPM3 1.13, baremetal/metal3machine_manager.go: what it sets on a host that it takes.
    written = {
        "automatedCleaningMode",
        "consumerRef",
        "customDeploy",
        "image",
        "metaData",
        "networkData",
        "online",
        "userData",
    }
    for manifest in of_kind(site, "BareMetalHost"):
        ignored = {path.removeprefix("spec.") for path in manifest.ignore}
        assert manifest.body["spec"].keys() & written <= ignored
        assert ignored <= written
        assert "status" not in manifest.body
        # The schema requires it, so it has to be there when the host is made.
        assert manifest.body["spec"]["online"] is True


def test_empty_structs_go_and_empty_lists_stay() -> None:
    value: Json = {
        "a": {"b": {}, "c": None},
        "d": [],
        "e": {"f": False, "g": 0, "h": ""},
        "i": None,
    }
    assert prune(value) == {"d": [], "e": {"f": False, "g": 0, "h": ""}}


def test_a_profile_without_any_hint_on_its_disk_makes_no_empty_struct() -> None:
    site = every_site()["lab-1"]
    profile = site.profile(site.control_plane).model_copy(update={"root_disk": RootDisk()})
    bare = replace(site, hardware={**site.hardware, site.control_plane.hardware: profile})
    assert "rootDeviceHints" in of_kind(site, "BareMetalHost")[0].body["spec"]
    assert "rootDeviceHints" not in of_kind(bare, "BareMetalHost")[0].body["spec"]


HINTS: Json = {
    "device_name": "/dev/disk/by-path/pci-0000:01:00.0-nvme-1",
    "hctl": "0:2:0:0",
    "model": "SAMSUNG MZ1L2",
    "vendor": "ATA",
    "serial_number": "S6CKNE0T123456",
    "min_size_gigabytes": 400,
    "wwn": "eui.0025385b21404e1b",
    "wwn_with_extension": "0x5002538e40a1b2c3",
    "wwn_vendor_extension": "0x1",
    "rotational": False,
}


def test_every_hint_of_a_root_disk_is_that_of_metal3() -> None:
    site = every_site()["lab-1"]
    profile = site.profile(site.control_plane)
    own = profile.model_copy(update={"root_disk": RootDisk(**HINTS)})
    cell = ";".join(f"{name}={value}" for name, value in HINTS.items()).replace("False", "false")
    first, *others = site.hosts
    of_profile = replace(site, hardware={**site.hardware, site.control_plane.hardware: own})
    of_host = replace(site, hosts=(first._replace(root_disk=cell), *others))
    body = of_kind(of_profile, "BareMetalHost")[0].body
    hints = body["spec"]["rootDeviceHints"]
    assert len(hints) == len(HINTS) == len(RootDisk.model_fields)
    assert check_object(body) == []
    one_host, *rest = of_kind(of_host, "BareMetalHost")
    assert one_host.body["spec"]["rootDeviceHints"] == hints
    assert rest == of_kind(site, "BareMetalHost")[1:]


def test_no_profile_of_the_catalogue_names_a_disk_by_the_kernels_order() -> None:
    for name, profile in every_site()["lab-1"].hardware.items():
        assert not profile.root_disk.unstable, name


# --- references -----------------------------------------------------------------------------------


def references(body: Json) -> Iterator[tuple[str, str]]:
    """Kind and name of each object that an object names, whichever way its API spells that."""
    kind = body["kind"]
    for path, value in walk(body):
        grouped = isinstance(value, dict) and value.keys() == {"apiGroup", "kind", "name"}
        if grouped or path[-1:] == ("templateRef",):
            yield value["kind"], value["name"]
        elif path[-1:] == ("dataTemplate",):
            yield "Metal3DataTemplate", value["name"]
        elif path[-1:] == ("clusterName",):
            yield "Cluster", value
        elif path[-1:] in {("ipAddressFromIPPool",), ("fromIPPool",)}:
            yield "IPPool", value
        elif path[-1:] == ("policyName",):
            yield "ValidatingAdmissionPolicy", value
        elif path[-1:] == ("paramRef",):
            yield "KubeadmControlPlane", value["name"]
        elif kind == "ClusterResourceSet" and path[:2] == ("spec", "resources") and len(path) == 3:
            yield value["kind"], value["name"]


def test_every_reference_leads_to_an_object_of_the_site(site: Site) -> None:
    there = {(m.kind, name_of(m.body)) for m in machines(site)}
    made = [(m.name, each) for m in machines(site) for each in references(m.body)]
    assert not [(name, each) for name, each in made if each not in there]
    kinds = {kind for _, (kind, _) in made}
    assert kinds >= {"Cluster", "IPPool", "Metal3Cluster", *KEPT} - (
        set() if site.worker_pools else {"KubeadmConfigTemplate"}
    )


def test_references_name_the_group_of_what_they_lead_to(site: Site) -> None:
    groups = {m.kind: m.body["apiVersion"].partition("/")[0] for m in machines(site)}
    for manifest in machines(site):
        for path, value in walk(manifest.body):
            if isinstance(value, dict) and {"kind", "name"} <= value.keys() and "kind" not in path:
                api = value.get("apiGroup") or value.get("apiVersion")
                assert api is None or api.partition("/")[0] == groups[value["kind"]], path


def test_nothing_is_made_that_nothing_uses(site: Site) -> None:
    used = {each for m in machines(site) for each in references(m.body)}
    for manifest in of_kind(site, *KEPT, "Metal3RemediationTemplate"):
        assert (manifest.kind, name_of(manifest.body)) in used, manifest.name


# --- hosts, machines and addresses ----------------------------------------------------------------


def template_of(site: Site, managed: Json) -> Json:
    """The Metal3MachineTemplate of a KubeadmControlPlane or a MachineDeployment."""
    spec = managed["spec"]
    holder = spec["machineTemplate"] if "machineTemplate" in spec else spec["template"]
    name = holder["spec"]["infrastructureRef"]["name"]
    (body,) = [m.body for m in of_kind(site, "Metal3MachineTemplate") if name_of(m.body) == name]
    return body


def chosen(site: Site, template: Json) -> set[str]:
    """The hosts that a machine template's selector matches, as CAPM3 does (matchLabels only)."""
    selector = template["spec"]["template"]["spec"]["hostSelector"]
    assert selector.keys() == {"matchLabels"}
    wanted = selector["matchLabels"].items()
    hosts = [m.body["metadata"] for m in of_kind(site, "BareMetalHost")]
    return {host["name"] for host in hosts if wanted <= host["labels"].items()}


def test_each_host_is_one_object_with_what_its_line_says(site: Site) -> None:
    bodies = {m.key[3]: m.body for m in of_kind(site, "BareMetalHost")}
    assert bodies.keys() == {host.name for host in site.hosts}
    for host in site.hosts:
        spec, metadata = bodies[host.name]["spec"], bodies[host.name]["metadata"]
        assert spec["bootMACAddress"] == host.mac
        bmc = site.profile(pools(site)[host.pool]).bmc
        path = "" if bmc.protocol is BmcProtocol.IPMI else bmc.system_path
        assert spec["bmc"]["address"] == f"{bmc.protocol}://{host.bmc}{path}"
        assert spec["bmc"]["disableCertificateVerification"] is not bmc.verify_certificate
        # One Secret for all, or one for each host; somebody else fills them.
        secret = site.file.bmc.credentials or f"{host.name}-bmc"
        assert spec["bmc"]["credentialsName"] == secret
        labels = metadata["labels"]
        assert labels["foresite.dev/pool"] == host.pool
        assert labels["foresite.dev/zone"] == host.zone
        assert labels["foresite.dev/rack"] == host.rack
        assert labels["infrastructure.cluster.x-k8s.io/failure-domain"] == host.zone
        assert metadata["annotations"]["foresite.dev/boot-mac"] == host.mac
        assert metadata["annotations"]["foresite.dev/serial"] == host.serial


def test_each_host_can_only_become_a_machine_of_one_deployment(site: Site) -> None:
    matched = Counter[str]()
    for manifest in of_kind(site, *MANAGED):
        matched.update(chosen(site, template_of(site, manifest.body)))
    assert matched == {host.name: 1 for host in site.hosts}


def test_machines_and_spares_are_the_hosts_and_a_surge_has_spares(site: Site) -> None:
    for manifest in of_kind(site, *MANAGED):
        pool, spec = pool_of(site, manifest.body), manifest.body["spec"]
        hosts = chosen(site, template_of(site, manifest.body))
        assert spec["replicas"] + pool.spares == len(hosts), manifest.name
        surge = spec["rollout"]["strategy"].get("rollingUpdate", {}).get("maxSurge", 0)
        assert surge <= pool.spares, manifest.name
        assert hosts <= {host.name for host in site.hosts_of(pool)}, manifest.name


def test_a_zone_kept_apart_is_kept_apart_by_label_and_failure_domain() -> None:
    site = every_site()["edge-1"]
    for zone in ("a", "b"):
        deployment = one(site, f"MachineDeployment/gpu/{zone}")
        assert deployment["spec"]["template"]["spec"]["failureDomain"] == zone
        hosts = chosen(site, template_of(site, deployment))
        assert {host.zone for host in site.hosts if host.name in hosts} == {zone}


def test_every_host_gets_the_address_of_its_line(site: Site) -> None:
    spec = one(site, "IPPool")["spec"]
    name = name_of(one(site, "IPPool"))
    # CAPM3 with --enable-bmh-name-based-preallocation names a claim <host>-<IPPool>.
    assert spec["preAllocations"] == {f"{host.name}-{name}": host.ip for host in site.hosts}
    assert len(set(spec["preAllocations"].values())) == len(site.hosts)
    for host in site.hosts:
        inside = [
            each
            for each in spec["pools"]
            if IPv4Address(each["start"]) <= IPv4Address(host.ip) <= IPv4Address(each["end"])
        ]
        zone = next(zone for zone in site.file.zones if zone.name == host.zone)
        assert [each["gateway"] for each in inside] == [zone.gateway]
    for each in spec["pools"]:
        (zone,) = (zone for zone in site.file.zones if zone.network == each["subnet"])
        network = IPv4Network(zone.network)
        assert network[0] < IPv4Address(each["start"]) <= IPv4Address(each["end"]) < network[-1]
        assert each["prefix"] == network.prefixlen
    assert DNS_LABEL.fullmatch(spec["namePrefix"])


def test_no_machine_can_get_the_address_of_something_else(site: Site) -> None:
    boots = [site.first_boot(pool) for pool in site.file.pools]
    others = {site.file.cluster.endpoint, *(zone.gateway for zone in site.file.zones)}
    others |= {address for boot in boots for address in (*boot.dns, *boot.ntp)}
    first, *rest = site.file.zones
    hosts = sorted(IPv4Address(host.ip) for host in site.hosts if host.zone == first.name)
    span = [str(hosts[0]), str(hosts[-1])]
    narrow = with_file(site, zones=[first.model_copy(update={"hosts": span}), *rest])
    for each in (site, narrow):
        given = {
            str(IPv4Address(number))
            for ranges in one(each, "IPPool")["spec"]["pools"]
            for number in range(
                int(IPv4Address(ranges["start"])), int(IPv4Address(ranges["end"])) + 1
            )
        }
        assert not given & others
        assert given >= {host.ip for host in site.hosts}
    assert not given & {str(hosts[0] - 1), str(hosts[-1] + 1)}


def test_machines_boot_the_image_that_the_release_has_for_their_version(site: Site) -> None:
    for manifest in of_kind(site, *MANAGED):
        pool = pool_of(site, manifest.body)
        image = template_of(site, manifest.body)["spec"]["template"]["spec"]["image"]
        wanted = site.os_image(pool)
        assert (image["checksum"], image["checksumType"]) == (wanted.sha256, "sha256")
        server, _, name = image["url"].rpartition("/")
        assert server == site.file.sources.os_images.rstrip("/")
        assert (name, image["diskFormat"]) == (wanted.file, wanted.format.value)


def test_the_control_plane_may_spread_over_the_zones_that_it_has_hosts_in(site: Site) -> None:
    spec = one(site, "Metal3Cluster")["spec"]
    zones = {host.zone for host in site.hosts_of(site.control_plane)}
    assert {each["name"]: each["controlPlane"] for each in spec["failureDomains"]} == {
        zone.name: zone.name in zones for zone in site.file.zones
    }
    # Only so does the Metal3 provider look for the node by its label metal3.io/uuid.
    assert spec["cloudProviderEnabled"] is False


def test_hosts_find_their_addresses_without_claiming_a_second_one(site: Site) -> None:
    for manifest in of_kind(site, "Metal3DataTemplate"):
        network = manifest.body["spec"]["networkData"]
        (address,) = network["networks"]["ipv4"]
        (link,) = network["links"]["ethernets"]
        assert address["link"] == link["id"]
        source = link["macAddress"]["fromAnnotation"]
        assert source["object"] == "baremetalhost"
        for host in of_kind(site, "BareMetalHost"):
            assert source["annotation"] in host.body["metadata"]["annotations"]
        assert "dnsFromIPPool" not in json.dumps(network)
        metadata = manifest.body["metadata"]["labels"]
        assert metadata["cluster.x-k8s.io/cluster-name"] == site.name
