"""The rights that the account needs before anything is made: judged by a fake API server that
serves every kind of the site and one more."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest

from components.making.manifest import Json, Target
from components.site import site_objects
from foresite.command import UsageError
from foresite.delivery.servers import probe as probing
from foresite.delivery.servers import served
from foresite.delivery.servers.apiserver import Kubectl
from foresite.delivery.servers.probe import Need, probe
from foresite.delivery.stack.engine import Engine
from foresite.delivery.stack.stated import Stated
from tests.kit.repository import all_sites

SITE = all_sites()["lab-1"]
OBJECTS = [each for made in site_objects(SITE).values() for each in made]
OLD = {
    "apiVersion": "example.dev/v1",
    "kind": "Relic",
    "metadata": {"name": "old", "namespace": "lab-1"},
}


def group_of(group: str, bodies: list[Json]) -> Json:
    """A group with the kinds of some objects, as the API server lists what it serves."""
    versions: dict[str, list[Json]] = {}
    for api, kind in {(each["apiVersion"], each["kind"]) for each in bodies}:
        if api.rpartition("/")[0] == group:
            row = {"resource": f"{kind.lower()}s", "responseKind": {"kind": kind}}
            versions.setdefault(api.rpartition("/")[2], []).append({**row, "verbs": ["list"]})
    served = [{"version": each, "resources": rows} for each, rows in versions.items()]
    return {"metadata": {"name": group}, "versions": served}


class FakeServer:
    """Answers as its class was told: what is there, and which verbs are refused."""

    there: bool
    refused: frozenset[tuple[str, str]]
    context = "mgmt-lab"

    def __init__(self, *_: object) -> None:
        """Whatever the context."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def get(self, path: str, _accept: str = "") -> Json | None:
        bodies = [*(each.body for each in OBJECTS), OLD]
        if path in ("/api", "/apis"):
            groups = {each["apiVersion"].rpartition("/")[0] for each in bodies}
            items = [group_of(each, bodies) for each in groups if bool(each) == (path == "/apis")]
            return {"kind": "APIGroupDiscoveryList", "items": items}
        named = any(path.endswith(f"/{body['metadata']['name']}") for body in bodies)
        return {} if self.there and named else None

    def may(self, verb: str, _group: str, resource: str, _namespace: str) -> bool:
        return (verb, resource) not in self.refused and (verb, "*") not in self.refused


Ask = Callable[..., str]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Ask:
    """The result of a probe, or its refusal."""
    monkeypatch.setattr(probing, "ApiServer", FakeServer)
    monkeypatch.setattr(Kubectl, "contexts", lambda _: {"mgmt-lab": "https://there"})
    monkeypatch.setattr(served, "_SETTLE", 0.0)

    def probed(*refused: tuple[str, str], there: bool = False, leaving: Any = ()) -> str:
        monkeypatch.setattr(FakeServer, "there", there, raising=False)
        monkeypatch.setattr(FakeServer, "refused", frozenset(refused), raising=False)
        engine = Engine(tmp_path, {}, tmp_path, "lab-1", tmp_path, kubectl=Path("kubectl"))
        gone = [Stated("urn", body, Target.MANAGEMENT, False, False, "") for body in leaving]
        try:
            return "".join(map(str, probe(engine, SITE, Need.WRITE, gone)))
        except UsageError as error:
            return str(error)

    return probed


def test_only_what_was_asked_is_said(ask: Ask) -> None:
    assert "the account may make and change them" in (said := ask()) and "delete" not in said
    assert "may make and change them, and delete what leaves" in ask(leaving=[OLD])


@pytest.mark.parametrize("verb", ["patch", "create"])
def test_what_is_not_there_takes_the_right_to_create_and_to_patch(ask: Ask, verb: str) -> None:
    said = ask((verb, "baremetalhosts"))
    assert f"the account may not {verb} baremetalhosts in lab-1;" in said
    assert "docs/ci-accounts.yaml" in said and "nothing was changed" in said
    assert "may not patch or create " in ask(("patch", "*"), ("create", "*"))


def test_what_somebody_made_for_the_site_takes_the_right_to_patch_alone(ask: Ask) -> None:
    assert "may make and change" in ask(("create", "*"), there=True)
    assert "may not patch namespaces;" in ask(("patch", "namespaces"), there=True)


def test_what_leaves_takes_the_right_to_delete(ask: Ask) -> None:
    refused = ("delete", "relics")
    assert "may make and change" in ask(refused)
    assert "the account may not delete relics in lab-1;" in ask(refused, leaving=[OLD])
    unserved = {**OLD, "apiVersion": "gone.dev/v1"}
    assert "may make and change" in ask(refused, leaving=[unserved])
