"""A small site with four kinds of accelerators, of which one is in-house, and its variations."""

import functools
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from components.accelerators.objects import objects
from components.making.manifest import Json, Manifest
from schemas.facts.site import Site
from schemas.load import Loaded, load_site
from tests.kit.repository import ROOT

NAME = "osaka-1"
POOLS = {"control": 3, "cpu": 2, "v100": 4, "h100": 3, "t4": 2, "mncore": 2}
"""How many hosts each pool has."""
FILE: Json = {
    "site": NAME,
    "region": "jp-west",
    "release": "2026.11",
    "management": "trial",
    "cluster": {
        "kubernetes": "v1.35.5",
        "endpoint": "10.32.0.10",
        "pods": "10.64.0.0/12",
        "services": "10.96.0.0/16",
        "pod_network": {"manifests": "pod-network/example.yaml"},
        "context": NAME,
    },
    "zones": [{"name": "a", "network": "10.32.0.0/24", "gateway": "10.32.0.1"}],
    "bmc": {"network": "10.40.0.0/24"},
    "sources": {"os_images": "http://images.osaka-1.example/os"},
    "first_boot": {
        "ntp": ["10.32.0.2"],
        "dns": ["10.32.0.2"],
        "ssh": {
            "user": "ops",
            "keys": [
                "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFymhLku4SdfYrPbCwX88H668olnzzQcg7SSyMhAs2aA"
            ],
        },
    },
    "pools": [
        {"name": "control", "role": "control-plane", "hardware": "cpu-1u"},
        {"name": "cpu", "hardware": "cpu-1u"},
        {"name": "v100", "hardware": "v100-sxm2-32gb-x8", "spares": 1},
        {
            "name": "h100",
            "hardware": "h100-sxm5-80gb-x8",
            "rollout": {"drain_timeout_seconds": 14400},
            "taints": [{"key": "example.com/reserved", "value": "a", "effect": "NoSchedule"}],
        },
        {"name": "t4", "hardware": "t4-pcie-16gb-x1"},
        {"name": "mncore", "hardware": "mncore2-x8"},
    ],
}
OWN: Json = {
    "mncore2": {
        "description": "MN-Core 2 board",
        "vendor": "mncore",
        "pci": {"vendor": "1e37", "devices": ["0002"], "classes": ["1200"]},
        "plugin": {
            "resource": "preferred.jp/mncore2",
            "image": f"registry.example/mncore/device-plugin:v2@sha256:{'ab' * 32}",
            "args": ["--boards=8"],
            "host_paths": ["/dev/mncore0", "/dev/mncore1"],
            "privileged": True,
        },
        "exporter": {
            "image": f"registry.example/mncore/exporter:v2@sha256:{'cd' * 32}",
            "env": {"LEVEL": "info"},
            "port": 9500,
        },
        "dra": {"driver": "boards.mncore.example"},
    }
}
"""An in-house card: nothing in Foresite knows its vendor."""
SETTINGS: Json = {
    "prefix": "preferred.jp",
    "names": {
        "v100-sxm2-32gb": "gpu-v100-24gb",
        "h100-sxm5-80gb": "gpu-h100-80gb",
        "t4-pcie-16gb": "gpu-t4-16gb",
    },
    "models": OWN,
}
V100, H100, T4, MNCORE = (
    f"preferred.jp/{name}" for name in ("gpu-v100-24gb", "gpu-h100-80gb", "gpu-t4-16gb", "mncore2")
)
OWN_RELEASE = "2026.12-ours"
OWN_IMAGES = {
    "amd-device-plugin": f"registry.example/rocm/k8s-device-plugin:1.31.0@sha256:{'a1' * 32}",
    "habana-device-plugin": f"registry.example/habana/device-plugin:1.23.0@sha256:{'a2' * 32}",
}
OPERATOR_IMAGES = {
    "nvidia-gpu-operator": f"nvcr.io/nvidia/gpu-operator:v26.3.3@sha256:{'12' * 32}",
    "nvidia-driver-manager": f"nvcr.io/nvidia/driver-manager:v0.11.0@sha256:{'34' * 32}",
}
"""Images of the operator that the objects are written for."""


def loaded(settings: Json | None = SETTINGS, **changed: Any) -> Loaded:
    """The site with these accelerators, as the loader finds it; ``changed`` are other sections."""
    # JSON is YAML, in which no text looks like a number.
    chosen = {"accelerators": settings} if settings else {}
    return _loaded(json.dumps({**FILE, **changed, **chosen}, indent=1))


@functools.cache
def _loaded(text: str) -> Loaded:
    with TemporaryDirectory() as folder:
        sites = Path(folder) / "sites"
        (sites / "pod-network").mkdir(parents=True)
        # A release of the repository's own, with images that Foresite's releases do not have.
        release = (ROOT / "schemas/catalogue/releases/2026.12.yaml").read_text("utf-8")
        more = "".join(f"  {name}: {image}\n" for name, image in OWN_IMAGES.items())
        release = release.replace('release: "2026.12"', f"release: {OWN_RELEASE}")
        (Path(folder) / "catalogue/releases").mkdir(parents=True)
        own = Path(folder) / f"catalogue/releases/{OWN_RELEASE}.yaml"
        own.write_text(release.replace("\nimages:\n", f"\nimages:\n{more}"), "utf-8")
        network = ROOT / "tests/invalid/base/sites/pod-network/example.yaml"
        (sites / "pod-network/example.yaml").write_bytes(network.read_bytes())
        (sites / f"{NAME}.yaml").write_text(text, "utf-8")
        (sites / f"{NAME}.hosts.csv").write_text("\n".join(_hosts()) + "\n", "utf-8")
        return load_site(Path(folder), NAME)


def _hosts() -> list[str]:
    lines = ["name,pool,zone,rack,bmc,mac,ip,serial"]
    for pool, count in POOLS.items():
        for _ in range(count):
            n = len(lines)
            mac = f"02:00:00:00:00:{n:02x}"
            address = f"10.32.0.{20 + n}"
            lines.append(f"osaka-{n:02},{pool},a,r1,10.40.0.{20 + n},{mac},{address},S{n}")
    return lines


def site(settings: Json | None = SETTINGS, **changed: Any) -> Site:
    """The site with these accelerators; a problem in it fails whoever asks."""
    found = loaded(settings, **changed)
    assert found.site is not None, [str(each) for each in found.problems]
    return found.site


def by_dra(**changed: Any) -> Site:
    """The site with DRA drivers instead of device plugins."""
    return site({**SETTINGS, "model_by": "dra"}, **changed)


def operated_by(images: Mapping[str, str] = OPERATOR_IMAGES, **chosen: Any) -> Site:
    """The site with NVIDIA's operator, at the version that the objects are written for."""
    plain = site()
    release = plain.release.model_copy(update={"images": {**plain.release.images, **images}})
    settings = plain.file.accelerators
    assert settings is not None
    operator = type(settings).model_validate({**SETTINGS, "gpu_operator": chosen}).gpu_operator
    changed = settings.model_copy(update={"gpu_operator": operator})
    file = plain.file.model_copy(update={"accelerators": changed})
    return replace(plain, file=file, release=release)


def bodies(of: Site, kind: str) -> dict[str, Json]:
    """The objects of a kind by their names."""
    return {each.key[3]: each.body for each in objects(of) if each.kind == kind}


def only(of: Site, kind: str) -> Json:
    """The one object of a kind."""
    (found,) = bodies(of, kind).values()
    return found


def manifests(of: Site) -> dict[str, Manifest]:
    """Every object of the component by its logical name."""
    found = objects(of)
    named = {each.name: each for each in found}
    assert len(named) == len(found)
    return named
