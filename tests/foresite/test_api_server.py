"""Every object of every site against the real kube-apiserver with the real CRDs."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from components.engines import ENGINES
from components.making.manifest import Manifest
from components.site import site_objects
from controlplane import ApiError, Client, ControlPlane
from controlplane.trial import serve
from tests.kit.engine_fleets import fleet_of
from tests.kit.repository import all_sites, field_sites

pytestmark = pytest.mark.controlplane
SITES = {**all_sites(), **field_sites()}


def objects_of(name: str) -> list[Manifest]:
    return [each for made in site_objects(SITES[name]).values() for each in made]


def refusals(client: Client, manifests: list[Manifest]) -> list[str]:
    """The API server's messages against manifests in a strict dry run."""

    def judge(manifest: Manifest) -> str | None:
        try:
            client.apply(manifest.body, dry_run=True)
        except ApiError as error:
            return f"{manifest.name}: {error}"
        return None

    with ThreadPoolExecutor(8) as pool:
        return [answer for answer in pool.map(judge, manifests) if answer]


@pytest.mark.parametrize("name", sorted(SITES))
def test_every_object_passes_a_strict_dry_run(api: ControlPlane, name: str) -> None:
    manifests = objects_of(name)
    serve(api, (each.body for each in manifests))
    with api.client() as client:
        # A dry run in a namespace needs the namespace.
        for manifest in manifests:
            if manifest.kind == "Namespace":
                client.apply(manifest.body)
        # That of Prometheus and the like is the site's own.
        for space in {each.body["metadata"].get("namespace") for each in manifests} - {None}:
            client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
        assert refusals(client, manifests) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_every_object_of_an_engine_passes_a_strict_dry_run(api: ControlPlane, engine: str) -> None:
    files = ENGINES[engine].files(fleet_of(SITES.values()))
    made = [Manifest(path, body) for path, bodies in files.items() for body in bodies]
    serve(api, (each.body for each in made))
    with api.client() as client:
        for space in {each.body["metadata"].get("namespace") for each in made} - {None}:
            client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
        assert refusals(client, made) == []
