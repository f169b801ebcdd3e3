"""``foresite explain``: what a value is, where it stands, and which objects change with it."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.site import site_objects
from components.trace import carriers
from foresite.cli import main
from foresite.command import FAILED, FOUND, OK
from foresite.commands.explain import LEAVES
from schemas.load import load_site
from schemas.model.primitives import Model
from schemas.model.site_file import Pool, SiteFile, Zone
from schemas.reading.host_list import COLUMNS
from schemas.reading.yaml_reader import Document, read_yaml
from schemas.resolve import Meaning, Origin, UnknownPathError, resolve
from tests.golden import GOLDEN, every_site, of_kind, with_pool
from tests.kit.repository import ROOT, WRITTEN_OUT, copy_sites, written_out

SITES = sorted(every_site())


def root_of(name: str) -> Path:
    return GOLDEN if name == "edge-1" else written_out()


@cache
def document_of(path: Path) -> Document:
    document, problems = read_yaml(path.read_bytes(), f"{path.parent.name}/{path.name}")
    assert document is not None, problems
    return document


def meaning_of(name: str, path: str) -> Meaning:
    sites = root_of(name) / "sites"
    hosts = (sites / f"{name}.hosts.csv").read_text("utf-8")
    return resolve(every_site()[name], document_of(sites / f"{name}.yaml"), hosts, path)


def explained(*arguments: str) -> int:
    return main(["--root", str(written_out()), "explain", *arguments])


def plain(value: Any) -> Any:
    if isinstance(value, Model):
        return value.model_dump(mode="json")
    return value.value if isinstance(value, Enum) else value


def leaves(value: Any, path: str = "", *, by_name: bool = True) -> Iterator[tuple[str, Any]]:
    """Every value of a file with its path as a person would write it."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else key, by_name=by_name)
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            named = by_name and isinstance(item, dict) and "name" in item
            step = f".{item['name']}" if named else f"[{index}]"
            yield from leaves(item, f"{path}{step}", by_name=by_name)
    else:
        yield path, value


def stands(value: Any, place: str, root: Path) -> bool:
    """True if the text at a place is a value, however it is quoted."""
    file, line, column = place.rsplit(":", 2)
    rest = (root / file).read_text("utf-8").split("\n")[int(line) - 1][int(column) - 1 :]
    spellings = (json.dumps(value), str(value), f"'{value}'")
    return any(re.match(re.escape(each) + r"(?=$|[,}\]\s])", rest) for each in spellings)


# --- where a value comes from ---------------------------------------------------------------------


@pytest.mark.parametrize("name", SITES)
@pytest.mark.parametrize("by_name", [True, False])
def test_every_value_of_a_site_file_is_found_where_it_stands(name: str, by_name: bool) -> None:
    file = root_of(name) / "sites" / f"{name}.yaml"
    values = dict(leaves(document_of(file).value, by_name=by_name))
    assert len(values) > 15
    for path, value in values.items():
        meaning = meaning_of(name, path)
        assert plain(meaning.value) == value, path
        assert meaning.origin is Origin.SITE_FILE, path
        assert stands(value, meaning.place, root_of(name)), (path, meaning.place)
        assert len(meaning.description) > 10, path


def unset(model: Model, path: str) -> Iterator[tuple[str, Any]]:
    """Every field below a model that its file does not set, with the default."""
    for field in type(model).model_fields:
        value = getattr(model, field)
        if field not in model.model_fields_set:
            yield f"{path}{field}", value
            if isinstance(value, Model):
                yield from ((f"{path}{field}.{inner}", each) for inner, each in value)
        elif isinstance(value, Model):
            yield from unset(value, f"{path}{field}.")
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, Model):
                    step = item.name if isinstance(item, Pool | Zone) else None
                    yield from unset(item, f"{path}{field}{f'.{step}' if step else f'[{index}]'}.")


@pytest.mark.parametrize("name", SITES)
def test_what_a_site_file_does_not_say_is_a_default(name: str) -> None:
    values = dict(unset(every_site()[name].file, ""))
    assert len(values) > 30
    for path, value in values.items():
        meaning = meaning_of(name, path)
        assert (meaning.origin, meaning.place) == (Origin.DEFAULT, ""), path
        assert meaning.value == value, path


@pytest.mark.parametrize("name", SITES)
def test_a_pool_leads_into_its_hardware_profile(name: str) -> None:
    site = every_site()[name]
    shipped = document_of(ROOT / "schemas" / "catalogue" / "hardware.yaml").value
    for pool in site.file.pools:
        base = f"pools.{pool.name}.hardware"
        own = pool.hardware in site.file.hardware
        file: Any = document_of(root_of(name) / "sites" / f"{name}.yaml").value if own else shipped
        for path, value in leaves(file["hardware"][pool.hardware]):
            meaning = meaning_of(name, f"{base}.{path}")
            assert plain(meaning.value) == value
            assert meaning.origin is Origin.PROFILE
            assert stands(value, meaning.place, root_of(name) if own else ROOT), meaning.place
        for path, value in unset(site.profile(pool), f"{base}."):
            meaning = meaning_of(name, path)
            assert (meaning.origin, meaning.place) == (Origin.DEFAULT, ""), path
            assert meaning.value == value


def test_a_site_leads_into_its_release() -> None:
    release = every_site()["lab-1"].file.release
    file = ROOT / "schemas" / "catalogue" / "releases" / f"{release}.yaml"
    for path, value in leaves(document_of(file).value):
        meaning = meaning_of("lab-1", f"release.{path}")
        assert plain(meaning.value) == value
        assert meaning.origin is Origin.RELEASE
        assert stands(value, meaning.place, ROOT), meaning.place


@pytest.mark.parametrize("name", SITES)
def test_every_cell_of_a_host_is_found_where_it_stands(name: str) -> None:
    hosts = every_site()[name].hosts
    for host in (hosts[0], hosts[len(hosts) // 2], hosts[-1]):
        for column in COLUMNS:
            meaning = meaning_of(name, f"hosts.{host.name}.{column}")
            assert meaning.value == getattr(host, column)
            assert meaning.origin is Origin.HOST_LIST
            assert stands(meaning.value, meaning.place, root_of(name)), meaning.place


@pytest.mark.parametrize("name", SITES)
def test_what_follows_from_other_fields_is_computed_for_the_pool_itself(name: str) -> None:
    site = every_site()[name]
    deployments = [m for made in site_objects(site).values() for m in made]
    for pool in site.worker_pools:
        meaning = meaning_of(name, f"pools.{pool.name}.replicas")
        assert meaning.origin is Origin.COMPUTED
        assert meaning.value == sum(
            m.body["spec"]["replicas"]
            for m in deployments
            if m.kind == "MachineDeployment" and m.name.split("/")[1] == pool.name
        )
        version = meaning_of(name, f"pools.{pool.name}.version")
        assert (version.origin, version.value) == (Origin.COMPUTED, site.version(pool))
        for path in ("kubelet.replicas", "hardware.version", "rollout.os_name"):
            with pytest.raises(UnknownPathError):
                meaning_of(name, f"pools.{pool.name}.{path}")


def test_a_name_goes_before_a_number_and_brackets_say_number_or_key() -> None:
    site = every_site()["lab-1"]
    zone = site.file.zones[0].model_copy(update={"name": "0", "gateway": "10.0.0.1"})
    file = site.file.model_copy(update={"zones": [*site.file.zones, zone]})
    odd = replace(site, file=file)
    document = document_of(WRITTEN_OUT / "lab-1.yaml")
    assert resolve(odd, document, "", "zones.0.gateway").value == "10.0.0.1"
    assert resolve(odd, document, "", "zones[0].name").value == "lab"
    assert resolve(odd, document, "", "zones.1.name").value == "0"
    for path in ("pools.gpu.labels[example.com/fabric]", "pools.gpu.labels.example.com/fabric"):
        assert meaning_of("edge-1", path).value == "rail-1"


@pytest.mark.parametrize("key", ["hardware", "release", "os", "name", "workers", "version"])
def test_a_label_is_a_label_however_it_is_called(key: str) -> None:
    site = with_pool(every_site()["lab-1"], "lab", labels={key: "x"})
    document = document_of(WRITTEN_OUT / "lab-1.yaml")
    meaning = resolve(site, document, "", f"pools.lab.labels.{key}")
    assert (meaning.value, meaning.others) == ("x", ())
    assert meaning.change is not None
    assert meaning.change("y").file.pools[0].labels == {key: "y"}
    with pytest.raises(UnknownPathError):
        resolve(site, document, "", f"pools.lab.labels.{key}.x")


# --- which objects carry it -----------------------------------------------------------------------

Files = dict[str, str]
"""Texts of files below sites/ by their path."""


def files_of(name: str) -> Files:
    folder = root_of(name) / "sites"
    paths = (path for path in folder.rglob("*") if path.is_file())
    texts = {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in paths}
    others = tuple(f"{other}." for other in SITES if other != name)
    return {path: text for path, text in texts.items() if not path.startswith(others)}


def objects_of(name: str, files: Files, folder: Path) -> dict[tuple[str, str], Any]:
    """The objects that come of a site's files once they are on disk."""
    root = folder / str(len(list(folder.iterdir())))
    for path, text in files.items():
        (root / "sites" / path).parent.mkdir(parents=True, exist_ok=True)
        (root / "sites" / path).write_text(text, encoding="utf-8")
    loaded = load_site(root, name)
    assert loaded.site is not None, [str(problem) for problem in loaded.problems]
    made = site_objects(loaded.site).items()
    return {(component, m.name): m.body for component, each in made for m in each}


def swap(path: str, old: str, *new: str) -> list[Callable[[Files], Files]]:
    """Changes that put another text in place of one that is there once."""

    def change(text: str) -> Callable[[Files], Files]:
        def apply(files: Files) -> Files:
            assert files[path].count(old) == 1, files[path].count(old)
            return {**files, path: files[path].replace(old, text)}

        return apply

    return [change(text) for text in new]


def renamed(name: str, old: str, new: str) -> Callable[[Files], Files]:
    """A change of a pool's or a zone's name in the site file and the host list."""
    file, hosts = f"{name}.yaml", f"{name}.hosts.csv"
    return lambda files: {
        **files,
        file: re.sub(
            rf"(name: |pools: \[){old}(, hardware|, network|\])", rf"\g<1>{new}\g<2>", files[file]
        ),
        hosts: files[hosts].replace(f",{old},", f",{new},"),
    }


def copied(path: str) -> Callable[[Files], Files]:
    """A change to another file with one line more."""
    return lambda files: {
        **{p: text.replace(path, "other") for p, text in files.items() if p.endswith("-1.yaml")},
        **{p: text for p, text in files.items() if not p.endswith("-1.yaml")},
        "other": files[path] + "\n",
    }


TOKYO = [
    ("region", "region: jp-east", "region: jp-west"),
    ("management", "mgmt-jp-east", "mgmt-jp-north"),
    ("cluster.endpoint", "endpoint: 10.16.0.10", "endpoint: 10.16.1.250"),
    ("cluster.services", "10.96.0.0/16", "10.96.0.0/15"),
    ("cluster.port", "  pods:", "  port: 7443\n  pods:"),
    ("cluster.virtual_ip", "  pods:", "  virtual_ip: external\n  pods:"),
    ("cluster.kubernetes", "v1.34.3", "v1.34.8", "v1.35.5"),
    ("cluster.pod_network.install", "flannel.yaml}", "flannel.yaml, install: direct}"),
    ("zones.b.network", "10.16.4.0/22", "10.16.4.0/23"),
    ("zones.b.gateway", "10.16.4.1}", "10.16.4.2}"),
    ("bmc.network", "10.24.0.0/20", "10.24.0.0/19"),
    ("sources.os_images", "http://images.", "http://other."),
    ("sources.registry_mirror", "https://registry.", "https://other."),
    ("first_boot.ntp[1]", "ntp: [10.16.0.2, 10.16.0.3]", "ntp: [10.16.0.2, 10.16.0.4]"),
    ("first_boot.dns[0]", "dns: [10.16.0.2,", "dns: [10.16.0.4,"),
    ("first_boot.ssh.user", "user: ops", "user: admin"),
    ("first_boot.proxy.http", ":3128", ":3129"),
    ("pools.cpu.spares", "cpu, hardware: cpu-1u", "cpu, hardware: cpu-1u, spares: 1",
     "cpu, hardware: cpu-1u, spares: 20"),
    ("pools.v100.rollout.max_surge", "max_surge: 2", "max_surge: 1"),
    ("pools.a100.rollout.by_zone", "by_zone: true", "by_zone: false"),
    ("pools.h100.rollout.drain_timeout_seconds", "14400", "7200"),
    ("pools.h100.taints[0].effect", "NoSchedule", "NoExecute", "PreferNoSchedule"),
    ("pools.h100.taints[0].value", "large-jobs", "small-jobs"),
    *(
        (f"pools.h100.{path}", "    hardware: h100", f"    {text}\n    hardware: h100")
        for path, text in (
            ("health_check.remedy", "health_check: {remedy: replace}"),
            ("health_check.max_unhealthy_percent", "health_check: {max_unhealthy_percent: 70}"),
        )
    ),
    ("kubelet.max_pods", "\npools:\n", "\nkubelet: {max_pods: 111}\n\npools:\n"),
    ("kubelet.eviction_hard.memory", "\npools:\n",
     "\nkubelet: {eviction_hard: {memory: 1Gi}}\n\npools:\n"),
]  # fmt: skip
TSUKUBA = [
    ("bmc.credentials", "credentials: tsukuba-1-bmc", "credentials: other"),
    ("pools.cpu.os", "os: rocky-9", "os: ubuntu-24.04"),
    ("pools.mncore2.health_check.reboot_retries", "retries: 2", "retries: 3"),
]
EDGE = [
    (
        "pools.gpu.hardware",
        "hardware: a100-sxm4-80gb-x8",
        *(
            f"hardware: {name}"
            for name in (
                "h100-sxm5-80gb-x8",
                "cpu-1u",
                "cpu-1u-arm64",
                "mncore2-x8",
                "disk-4u",
                "t4-pcie-16gb-x1",
                "v100-sxm2-32gb-x8",
            )
        ),
    ),
    ("pools.gpu.labels.node-role.kubernetes.io/gpu", 'gpu: ""', "gpu: x"),
    ("pools.gpu.labels.example.com/fabric", "rail-1", "rail-2"),
    ("cluster.workers", "workers: v1.34.3", "workers: v1.34.8"),
    ("pools.gpu.kubelet.max_pods", "max_pods: 64", "max_pods: 65"),
    ("pools.disk.hardware.boot_mode", "mode: legacy", "mode: UEFI"),
    ("pools.disk.hardware.bmc.verify_certificate", "certificate: false", "certificate: true"),
    (
        "pools.gpu.health_check.node_startup_timeout_seconds",
        "timeout_seconds: 7200",
        "timeout_seconds: 7201",
    ),
    ("pools.control.health_check.remedy", "remedy: replace}}", "remedy: reboot}}"),
]


def cases() -> Iterator[tuple[str, str, list[Callable[[Files], Files]]]]:
    for name, edits in (("tokyo-1", TOKYO), ("tsukuba-1", TSUKUBA), ("edge-1", EDGE)):
        for path, old, *new in edits:
            yield name, path, swap(f"{name}.yaml", old, *new)
    yield "tokyo-1", "zones.c.name", [renamed("tokyo-1", "c", "cc")]
    yield "tokyo-1", "pools.cpu.name", [renamed("tokyo-1", "cpu", "general")]
    for field in ("cluster.pod_network.manifests", "first_boot.ca_certificates[0]"):
        yield "tokyo-1", field, [copied(str(meaning_of("tokyo-1", field).value))]
    host = every_site()["tokyo-1"].by_pool["cpu"][0]
    row = f"{host.name},cpu,{host.zone},{host.rack},{host.bmc},{host.mac},{host.ip},{host.serial}\n"
    for column, other in (
        ("name", "tokyo-1-x-999"),
        ("rack", "x-99"),
        ("bmc", "10.24.9.11"),
        ("mac", "52:54:00:0f:00:01"),
        ("ip", "10.16.2.250"),
        ("serial", "X"),
    ):
        moved = row.replace(getattr(host, column), other, 1)
        yield "tokyo-1", f"hosts.{host.name}.{column}", swap("tokyo-1.hosts.csv", row, moved)


@pytest.mark.parametrize(
    ("name", "path", "changes"),
    [pytest.param(*case, id=f"{case[0]}: {case[1]}") for case in cases()],
)
def test_the_carriers_are_what_changes_when_the_file_is_edited(
    tmp_path: Path, name: str, path: str, changes: list[Callable[[Files], Files]]
) -> None:
    made = site_objects(every_site()[name]).items()
    before = {(component, m.name): m.body for component, each in made for m in each}
    differing = set()
    for change in changes:
        after = objects_of(name, change(files_of(name)), tmp_path)
        differing |= {key for key, body in before.items() if after.get(key) != body}
    meaning = meaning_of(name, path)
    assert meaning.change is not None
    carried = carriers(every_site()[name], meaning.value, meaning.change, meaning.others)
    assert carried.known
    assert {(part, m.name) for part, made in carried.objects.items() for m in made} == differing


def found(name: str, path: str) -> set[str] | None:
    """The logical names of what carries a value, None where that cannot be told."""
    meaning = meaning_of(name, path)
    assert meaning.change is not None
    carried = carriers(every_site()[name], meaning.value, meaning.change, meaning.others)
    return {m.name for made in carried.objects.values() for m in made} if carried.known else None


def test_a_host_s_pool_is_carried_by_wherever_the_host_could_go() -> None:
    site = every_site()["edge-1"]
    host = site.by_pool["gpu"][0]
    assert host.zone == "a"
    assert found("edge-1", f"hosts.{host.name}.pool") == {
        f"BareMetalHost/{host.name}",
        "KubeadmControlPlane",
        "MachineDeployment/disk",
        "MachineDeployment/gpu/a",
        # The pool disk keeps objects.
        "ConfigMap/cache-buckets",
        "ConfigMap/envoy-endpoints",
        "DaemonSet/cache-server/disk",
        "PodDisruptionBudget/cache-server",
        # Alerts name the pool of a host.
        "ConfigMap/foresite-rules",
    }
    assert (found("edge-1", f"hosts.{host.name}.zone") or set()) >= {
        f"BareMetalHost/{host.name}",
        "MachineDeployment/gpu/a",
        "MachineDeployment/gpu/b",
    }


def test_a_release_is_carried_by_whatever_one_of_its_values_is_in() -> None:
    images = {m.name for m in of_kind(every_site()["lab-1"], "Metal3MachineTemplate")}
    others = {"ClusterPolicy", "NVIDIADriver/lab", "DaemonSet/envoy/lab"}
    others.add("DaemonSet/node-problem-detector/lab")
    assert found("lab-1", "release") == {"KubeadmControlPlane", *images, *others}
    assert found("lab-1", "release.default_os") == {"KubeadmControlPlane", *images}
    assert found("lab-1", "release.kube_vip") == {"KubeadmControlPlane"}
    assert found("lab-1", "release.cluster_api.core") == set()
    # edge-1 has certificates, and where those go depends on the family of the system.
    assert (found("edge-1", "release") or set()) >= {
        "KubeadmConfigTemplate/disk",
        "MachineDeployment/disk",
    }


def test_where_no_other_value_fits_nothing_is_claimed() -> None:
    assert found("lab-1", "pools.lab.role") is None


# --- the command ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("pools.v100.rollout.max_unavailible", "did you mean max_unavailable?"),
        ("pools.v10", "did you mean v100?"),
        ("poools", "did you mean pools?"),
        ("pools.v100.hardware.root_disc.rotational", "did you mean root_disk?"),
        ("release.kube-vip", "did you mean kube_vip?"),
        ("hosts.tokyo-1-a-0O1.ip", "did you mean tokyo-1-a-0"),
        ("hosts.tokyo-1-a-001.iip", "did you mean ip?"),
        ("hosts.tokyo-1-a-001.ip.x", "nothing is below it"),
        ("hosts", "hosts.<name>.<column>"),
        ("zones[9]", "there are 4 items"),
        ("zones[99999999999]", "there is no"),
        ("zones[-1]", "there is no"),
        ("region.x", "nothing is below it"),
        ("cluster.workers.x", "nothing is below it"),
        ("pools[", "there is no ["),
        ("pools]", "there is no pools]"),
        ("", "write a path"),
        ("...", "write a path"),
        (" ", "there is no"),
        ("__class__", "there is no"),
        ("pools.v100.model_fields", "there is no"),
        ("." * 100_000, "leads nowhere"),
        ("[" * 100_000, "leads nowhere"),
    ],
)
def test_a_path_to_nowhere_says_what_is_there(
    path: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explained("tokyo-1", path) == FAILED
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("foresite: ")
    assert words in said.err
    assert len(said.err) < 2000


def test_a_section_that_a_site_does_not_have_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert explained("tsukuba-1", "cache.table_size") == FAILED
    assert "tsukuba-1 has no cache" in capsys.readouterr().err


def test_a_list_of_names_is_carried_by_what_one_name_is_in(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The hosts' containerd has a file for each registry, which their machine templates carry."""
    assert explained("tokyo-1", "cache.image_layers.registries", "--format", "json") == OK
    objects = json.loads(capsys.readouterr().out)["objects"]
    templates = of_kind(every_site()["tokyo-1"], "KubeadmConfigTemplate")
    said = [each for each in objects["machines"] if each.startswith("KubeadmConfigTemplate ")]
    assert len(said) == len(templates)


def test_a_person_reads_value_meaning_origin_and_objects(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert explained("tokyo-1", "pools.v100.rollout.max_unavailable") == OK
    assert capsys.readouterr().out.splitlines() == [
        "pools.v100.rollout.max_unavailable = 4",
        "  what: Machines that may be unavailable at a time (in each zone, where by_zone is set).",
        f"  from: site file, {meaning_of('tokyo-1', 'pools.v100.rollout.max_unavailable').place}",
        "  in:   2 objects",
        "        machines: MachineDeployment tokyo-1/v100",
        # So many may be out without an alert.
        "        monitoring: PrometheusRule monitoring/foresite-nodes",
    ]


def test_no_person_reads_the_marks_of_a_docstring(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy_sites(tmp_path)
    file = tmp_path / "sites" / "lab-1.yaml"
    text = file.read_text("utf-8")
    for reason, command, wanted in (
        ("", ["check", "lab-1"], "write text (Why; 'foresite apply' shows it)"),
        (
            "nobody is at work",
            ["explain", "lab-1", "maintenance.freezes[0].reason"],
            "what: Why; 'foresite",
        ),
    ):
        freeze = f"{{first_day: 2026-12-24, last_day: 2026-12-25, reason: {reason}}}"
        file.write_text(f"{text}maintenance: {{time_zone: Asia/Tokyo, freezes: [{freeze}]}}\n")
        main(["--root", str(tmp_path), *command])
        assert wanted in capsys.readouterr().out


def test_a_person_reads_why_no_object_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    for path, last in (
        ("bmc.network", "  in:   no object; it is used by checks, or to connect to a cluster"),
        ("pools.lab.role", "  in:   unknown: no other value could be tried"),
        ("pools.lab.rollout", "  from: default"),
        ("cluster.workers", "  from: default"),
        ("pools.lab.replicas", "  from: computed"),
    ):
        assert explained("lab-1", path) == OK
        about, _, block = capsys.readouterr().out.partition("\n\n")
        assert about.splitlines()[-1] == last
        assert bool(block) == (path == "pools.lab.rollout")


def test_many_objects_of_a_kind_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert explained("tokyo-1", "pools.v100.name") == OK
    lines = capsys.readouterr().out.splitlines()
    hosts = len(every_site()["tokyo-1"].by_pool["v100"])
    shown = [line for line in lines if "BareMetalHost tokyo-1/" in line]
    assert f"        machines: and {hosts - len(shown)} more BareMetalHosts" in lines
    assert len(lines) < 70


@pytest.mark.parametrize(
    ("path", "value", "objects"),
    [
        ("region", "jp-east", ["KubeadmControlPlane lab-1/lab-1"]),
        ("bmc.network", "10.26.0.0/24", []),
        ("pools.lab.replicas", 3, None),
        ("pools.lab.role", "control-plane", None),
        ("pools.lab.taints", [], None),
        ("cluster.workers", None, None),
        (
            "hosts.lab-1-lab-002",
            "lab-1-lab-002",
            ["IPPool", "BareMetalHost", "ConfigMap monitoring/foresite-rules"],
        ),
    ],
)
def test_a_machine_reads_json(
    path: str, value: object, objects: list[str] | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explained("lab-1", path, "--format", "json") == OK
    said = json.loads(capsys.readouterr().out)
    assert (said["path"], said["value"]) == (path, value)
    carried = said["objects"]
    named = None if carried is None else [name for made in carried.values() for name in made]
    if objects is None or named is None:
        assert named is objects
    else:
        assert len(named) == len(objects)
        assert all(name.startswith(start) for name, start in zip(named, objects, strict=True))


def test_every_part_of_a_site_can_be_written_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    for path in (*SiteFile.model_fields, "zones[0]", "pools.lab.hardware.bmc", "release.images"):
        code = explained("lab-1", path, "--format", "json")
        said = capsys.readouterr().out
        assert (code, bool(said)) in {(OK, True), (FAILED, False)}
        assert not said or json.loads(said)["path"] == path


def test_a_site_with_problems_is_not_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy_sites(tmp_path)
    (tmp_path / "sites" / "lab-1.hosts.csv").write_text("name\n")
    for form in ("text", "json"):
        arguments = ["--root", str(tmp_path), "explain", "lab-1", "region", "--format", form]
        assert main(arguments) == FOUND
        said = capsys.readouterr().out
        assert "hosts-columns" in said
        assert form == "text" or json.loads(said)["problems"]
    assert main(["--root", str(tmp_path), "explain", "lab-2", "region"]) == FOUND
    assert "write lab-1" in capsys.readouterr().out


# --- maps and lists -------------------------------------------------------------------------------


def block_of(name: str, path: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines of YAML that a map is shown as."""
    assert main(["--root", str(root_of(name)), "explain", name, path]) == OK
    return capsys.readouterr().out.partition("\n\n")[2].splitlines()


@pytest.mark.parametrize("name", SITES)
def test_a_map_is_yaml_in_which_each_value_has_its_origin(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = every_site()[name].file
    shown = 0
    for path, value in file:
        if not isinstance(value, Model | list | dict) or not list(value):
            continue
        lines = block_of(name, path, capsys)
        cut = lines[-1].startswith("# and ")
        written = yaml.safe_load("\n".join(lines))
        if not cut:
            assert written == file.model_dump(mode="json")[path]
        for line in lines[: len(lines) - cut]:
            text, mark, origin = line.rpartition("  # ")
            if not mark:
                assert line.endswith(":")
                continue
            value = yaml.safe_load(text.strip().removeprefix("- "))
            value = next(iter(value.values())) if isinstance(value, dict) and value else value
            at_place = ":" in origin and stands(value, origin, root_of(name))
            assert at_place or origin == "default", (path, line)
            shown += 1
    assert shown > 50


def test_a_large_map_is_cut_and_what_is_left_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    lines = block_of("tokyo-1", "pools", capsys)
    values = [line for line in lines if "  # " in line]
    assert len(values) == LEAVES
    assert explained("tokyo-1", "pools", "--format", "json") == OK
    said = json.loads(capsys.readouterr().out)
    assert next(iter(said["origins"])) == "pools[0].name"
    assert said["origins"]["pools[0].os"] == "default"
    assert len(said["origins"]) == LEAVES
    assert lines[-1] == f"# and {said['origins_left_out']} more values: explain a longer path"


def test_most_lines_of_a_map_fit_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    for path in ("pools.v100", "zones", "cluster", "bmc", "cache.buckets"):
        # A digest alone has 64 characters.
        shown = [each for each in block_of("tokyo-1", path, capsys) if "@sha256:" not in each]
        assert shown and all(len(line) <= 80 for line in shown)
