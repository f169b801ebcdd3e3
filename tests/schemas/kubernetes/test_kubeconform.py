"""kubeconform as an independent judge: everything that is rendered keeps the strict schemas of its
site's Kubernetes and of the real CRDs, which are files here."""

import functools
import itertools
import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import kubernetes_validate  # type: ignore[import-untyped]
import pytest

from components.making.dump import dump
from components.site import site_objects
from foresite.commands.render import files_of
from schemas.kubernetes.objects import load_crds
from tests.golden import every_site, objects, one
from tests.kit.go_programs import program
from tests.kit.good_objects import GONE, changed
from tests.kit.policy_objects import GOOD, WEB
from tests.kit.repository import ROOT

pytestmark = pytest.mark.go
Json = dict[str, Any]
VALID, INVALID = "statusValid", "statusInvalid"
KUBECONFORM = ROOT / "tools" / "kubeconform"
BUILT_IN = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema"
REFERRED = "/api/_definitions.json"
"""Where these schemas think that their definitions are."""
BUILT_IN_FILES = (
    "{{.NormalizedKubernetesVersion}}{{.StrictSuffix}}/{{.ResourceKind}}{{.KindSuffix}}.json"
)
CUSTOM_FILES = "{{.Group}}_{{.ResourceKind}}_{{.ResourceAPIVersion}}.json"
EMBEDDED = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"type": "object"},
}


class Verdict(NamedTuple):
    """The verdict of kubeconform on an object: the folder or file below the judged one that has it,
    its kind and name, a status, and why."""

    where: str
    title: str
    status: str
    message: str


def strict(schema: Json, *, root: bool = False) -> Json:
    """A schema of a CRD as JSON Schema that takes no field that it does not name: what the API
    server does with strict field validation. Kubernetes' own keywords are left to it."""
    result = {key: value for key, value in schema.items() if not key.startswith("x-kubernetes-")}
    embedded = root or schema.get("x-kubernetes-embedded-resource")
    if embedded:
        result["properties"] = {**EMBEDDED, **result.get("properties", {})}
    if "properties" in result:
        result["properties"] = {key: strict(value) for key, value in result["properties"].items()}
        if not schema.get("x-kubernetes-preserve-unknown-fields"):
            result.setdefault("additionalProperties", False)
    for key in ("items", "additionalProperties"):
        if isinstance(result.get(key), dict):
            result[key] = strict(result[key])
    if result.pop("nullable", False) and "type" in result:
        result["type"] = [result["type"], "null"]
    return result


@functools.cache
def kinds() -> frozenset[tuple[str, str]]:
    """Every apiVersion and kind that a site has."""
    made = (each.body for site in every_site().values() for each in objects(site))
    return frozenset((body["apiVersion"], body["kind"]) for body in made)


@pytest.fixture(scope="session")
def schemas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the schema of every version of every CRD that sites have objects of."""
    folder = tmp_path_factory.mktemp("kubeconform-schemas")
    for crd in load_crds(f"{api}/{kind}" for api, kind in kinds()):
        spec = crd["spec"]
        for version in spec["versions"]:
            name = f"{spec['group']}_{spec['names']['kind']}_{version['name']}.json".lower()
            schema = strict(version["schema"]["openAPIV3Schema"], root=True)
            (folder / name).write_text(json.dumps(schema))
    return folder


@functools.cache
def built_in(schemas: Path, version: str) -> str:
    """The version whose schemas are used, once they are in the folder."""
    used = ".".join((*version.removeprefix("v").split(".")[:2], "0"))
    folder = schemas / f"v{used}-strict"
    folder.mkdir(exist_ok=True)
    given = BUILT_IN / f"v{used}-local-strict"
    groups = (given.glob(f"{kind.lower()}-*.json") for _, kind in kinds())
    for path in (given / "_definitions.json", *itertools.chain.from_iterable(groups)):
        schema = json.loads(path.read_text().replace(REFERRED, "_definitions.json"))
        # It names a server, from which references would be fetched.
        schema.pop("$id", None)
        (folder / path.name).write_text(json.dumps(schema))
    return used


def verdicts(schemas: Path, folder: Path, version: str) -> list[Verdict]:
    """The verdicts of kubeconform on every object below a folder."""
    used = built_in(schemas, version)
    locations = (f"{schemas}/{BUILT_IN_FILES}", f"{schemas}/{CUSTOM_FILES}")
    flags = [each for location in locations for each in ("-schema-location", location)]
    done = subprocess.run(
        [program(KUBECONFORM), "-strict", "-verbose", "-output", "json", *flags,
         "-kubernetes-version", used, str(folder)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    return [
        Verdict(
            Path(each["filename"]).relative_to(folder).parts[0],
            f"{each['kind']} {each['name']}",
            each["status"],
            each.get("msg", ""),
        )
        for each in json.loads(done.stdout)["resources"]
    ]


@pytest.fixture(scope="module")
def rendered(schemas: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Verdict]]:
    """The verdicts of kubeconform on each site, in one run for all sites of a version of
    Kubernetes."""
    folder = tmp_path_factory.mktemp("rendered")
    for name, site in every_site().items():
        minor = site.file.cluster.kubernetes.rpartition(".")[0]
        for path, text in files_of(site, site_objects(site)).items():
            target = folder / minor / name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        (folder / minor / name / "index.json").unlink()
    found: dict[str, list[Verdict]] = {name: [] for name in every_site()}
    for version in folder.iterdir():
        for each in verdicts(schemas, version, version.name):
            found[each.where].append(each)
    return found


@pytest.mark.proof
@pytest.mark.parametrize("site", sorted(every_site()))
def test_everything_that_is_rendered_is_valid(
    rendered: dict[str, list[Verdict]], site: str
) -> None:
    assert [each for each in rendered[site] if each.status != VALID] == []
    assert len(rendered[site]) == sum(map(len, site_objects(every_site()[site]).values()))


def test_a_bad_object_is_refused(schemas: Path, tmp_path: Path) -> None:
    cluster = one(every_site()["lab-1"], "Cluster")
    cases = {
        "good": (GOOD["Deployment"], VALID),
        "a field that nobody knows": (
            changed(GOOD["Deployment"], (*WEB, "imagePullPolcy"), "Always"),
            INVALID,
        ),
        "a field of another type": (
            changed(GOOD["Deployment"], ("spec", "replicas"), "two"),
            INVALID,
        ),
        "a field that is missing": (
            changed(GOOD["Deployment"], ("spec", "selector"), GONE),
            INVALID,
        ),
        "a good custom resource": (cluster, VALID),
        "a field that the CRD does not know": (
            changed(cluster, ("spec", "controlPlaneRefs"), {"name": "x"}),
            INVALID,
        ),
    }
    for name, (body, _) in cases.items():
        (tmp_path / f"{name}.yaml").write_text(dump(body))
    found = {Path(each.where).stem: each.status for each in verdicts(schemas, tmp_path, "v1.34")}
    assert found == {name: status for name, (_, status) in cases.items()}
