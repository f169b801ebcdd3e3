"""Image layers from the cache: which files hosts get for it, and what containerd makes of them.

The real containerd reads the files and pulls (tests/kit/containerd); its registries are a fake, a
table of answers.
"""

import hashlib
import json
import subprocess
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from components.machines.registries import registry_files
from schemas.facts.site import Site
from schemas.model.object_cache import ImageLayers
from tests.golden import every_site, with_file
from tests.kit.go_programs import program
from tests.kit.repository import ROOT

SITE = every_site()["tokyo-1"]
MIRROR = "https://mirror.example"
LAYER = "the bytes of a layer"
MANIFEST = '{"schemaVersion": 2}'
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
ANY_BYTES = "application/octet-stream"
OCI_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
CACHE = "http://10.96.0.80/v1/objects/layers"
UBUNTU = "docker.io/library/ubuntu"


def with_layers(*registries: str, mirror: str | None = MIRROR) -> Site:
    """A site whose hosts look for layers of the registries in the bucket ``layers``."""
    cache = SITE.file.cache
    assert cache is not None
    layers = ImageLayers(bucket="layers", registries=list(registries))
    sources = SITE.file.sources.model_copy(update={"registry_mirror": mirror})
    cache = cache.model_copy(update={"address": "10.96.0.80", "image_layers": layers})
    return with_file(SITE, cache=cache, sources=sources)


def digest(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


# --- the files -------------------------------------------------------------------------------


def test_each_registry_has_a_file_that_is_toml() -> None:
    files = registry_files(with_layers("docker.io", "registry.example:5000"))
    read = {path.split("/")[4]: tomllib.loads(text) for path, text in files.items()}
    assert read.keys() == {"_default", "docker.io", "registry.example:5000"}
    assert list(read["docker.io"]["host"]) == [f"{CACHE}/docker.io", MIRROR]
    cache = read["docker.io"]["host"][f"{CACHE}/docker.io"]
    assert cache["capabilities"] == ["pull"]  # what a tag means, the cache is not trusted to say


def test_a_cache_without_an_address_is_refused() -> None:
    site = with_layers("docker.io")
    assert site.file.cache is not None
    hidden = with_file(site, cache=site.file.cache.model_copy(update={"address": None}))
    with pytest.raises(ValueError, match="without an address"):
        registry_files(hidden)


# --- what containerd makes of them -----------------------------------------------------------


@dataclass
class Pull:
    """The task of a containerd with the files of a site, and its result."""

    site: Site
    reference: str
    resolve: bool = False
    fetch: list[dict[str, Any]] = field(default_factory=list)
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)

    def run(self, containerd: Path, folder: Path) -> Any:
        for path, text in registry_files(self.site).items():
            file = folder / path.removeprefix("/etc/containerd/certs.d/")
            file.parent.mkdir(parents=True)
            file.write_text(text)
        script = {
            "reference": self.reference,
            "resolve": self.resolve,
            "fetch": self.fetch,
            "answers": self.answers,
        }
        done = subprocess.run(
            [containerd, folder], input=json.dumps(script), capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        return json.loads(done.stdout)


def layer(text: str = LAYER) -> dict[str, Any]:
    return {"mediaType": OCI_LAYER, "digest": digest(text), "size": len(text)}


def found(body: str, kind: str = ANY_BYTES) -> dict[str, Any]:
    return {"status": 200, "body": body, "type": kind}


@pytest.fixture(scope="module")
def containerd() -> Path:
    """A program that is containerd's resolver, of the versions in its go.mod."""
    return program(ROOT / "tests" / "kit" / "containerd")


HUB = "https://registry-1.docker.io"


@pytest.mark.go
@pytest.mark.parametrize(
    ("site", "reference", "urls"),
    [
        (with_layers("docker.io"), UBUNTU, [f"{CACHE}/docker.io", MIRROR, HUB]),
        (with_layers("docker.io", mirror=None), UBUNTU, [f"{CACHE}/docker.io", HUB]),
        (with_layers("a.io:5000"), "a.io:5000/x", [f"{CACHE}/a.io:5000", MIRROR, "https://a.io:5000"]),
        (with_layers("docker.io"), "a.io/x", [MIRROR, "https://a.io"]),
        (with_layers("mirror.example"), "mirror.example/x", [f"{CACHE}/mirror.example", MIRROR]),
    ],
    ids=["docker.io", "no mirror", "a port", "another registry", "the mirror itself"],
)  # fmt: skip
def test_containerd_asks_the_cache_then_the_mirror_then_the_registry(
    containerd: Path, tmp_path: Path, site: Site, reference: str, urls: list[str]
) -> None:
    report = Pull(site, reference).run(containerd, tmp_path)
    hosts = [f"{url} pulls" if url.startswith(CACHE) else f"{url}/v2 resolves" for url in urls]
    assert report["Hosts"] == hosts
    assert report["OldHosts"] == hosts  # containerd 1.7, which does not know dial_timeout


BLOB = f"library/ubuntu/blobs/{digest(LAYER)}"


@pytest.mark.go
def test_a_layer_of_the_cache_costs_no_registry_a_request(containerd: Path, tmp_path: Path) -> None:
    url = f"{CACHE}/docker.io/{BLOB}"
    pull = Pull(with_layers("docker.io"), UBUNTU, fetch=[layer()], answers={url: found(LAYER)})
    report = pull.run(containerd, tmp_path)
    assert report["Fetched"] == [LAYER]
    assert report["Requests"] == [f"GET {url}?ns=docker.io"]


@pytest.mark.go
@pytest.mark.parametrize("status", [0, 401, 403, 404, 500, 503, 504])
def test_whatever_is_wrong_with_the_cache_the_layer_comes_from_the_mirror(
    containerd: Path, tmp_path: Path, status: int
) -> None:
    mirrored = f"{MIRROR}/v2/{BLOB}"
    answers = {f"{CACHE}/docker.io/{BLOB}": {"status": status}, mirrored: found(LAYER)}
    pull = Pull(with_layers("docker.io"), UBUNTU, fetch=[layer()], answers=answers)
    report = pull.run(containerd, tmp_path)
    assert report["Fetched"] == [LAYER]
    assert report["Requests"][-1] == f"GET {mirrored}?ns=docker.io"


@pytest.mark.go
def test_a_false_layer_is_refused_by_its_digest(containerd: Path, tmp_path: Path) -> None:
    """And no other host is asked: the pull fails until the object is gone."""
    answers = {
        f"{CACHE}/docker.io/{BLOB}": found("other bytes of a layer"[: len(LAYER)]),
        f"{MIRROR}/v2/{BLOB}": found(LAYER),
    }
    pull = Pull(with_layers("docker.io"), UBUNTU, fetch=[layer()], answers=answers)
    report = pull.run(containerd, tmp_path)
    assert report["Fetched"] == [""]
    assert "unexpected digest" in report["Errors"][0]


@pytest.mark.go
def test_the_cache_is_never_asked_what_a_tag_means(containerd: Path, tmp_path: Path) -> None:
    tag = f"{MIRROR}/v2/library/ubuntu/manifests/24.04"
    answers = {tag: {**found(MANIFEST, OCI_MANIFEST), "digest": digest(MANIFEST)}}
    answers[f"{CACHE}/docker.io/library/ubuntu/manifests/24.04"] = answers[tag]
    pull = Pull(with_layers("docker.io"), f"{UBUNTU}:24.04", resolve=True, answers=answers)
    report = pull.run(containerd, tmp_path)
    assert report["Resolved"]["digest"] == digest(MANIFEST)
    assert report["Requests"] == [f"HEAD {tag}?ns=docker.io"]


PINNED = f"library/ubuntu/manifests/{digest(MANIFEST)}"


@pytest.mark.go
@pytest.mark.parametrize(
    ("stored", "media_type"),
    [({}, OCI_MANIFEST), ({f"{CACHE}/docker.io/{PINNED}": found(MANIFEST)}, ANY_BYTES)],
    ids=["layers alone", "manifests too"],
)  # fmt: skip
def test_a_manifest_in_the_cache_would_spoil_pulls_by_digest(
    containerd: Path, tmp_path: Path, stored: dict[str, Any], media_type: str
) -> None:
    """The cache does not say what an object is, so containerd would take the manifest for another
    thing, and find no layers in it: only layers may be put there (docs/image-layers.md)."""
    answers = {f"{MIRROR}/v2/{PINNED}": found(MANIFEST, OCI_MANIFEST), **stored}
    reference = f"{UBUNTU}@{digest(MANIFEST)}"
    pull = Pull(with_layers("docker.io"), reference, resolve=True, answers=answers)
    report = pull.run(containerd, tmp_path)
    assert report["Requests"][0] == f"HEAD {CACHE}/docker.io/{PINNED}?ns=docker.io"
    assert report["Resolved"]["mediaType"] == media_type
