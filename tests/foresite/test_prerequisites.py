"""``foresite prerequisites``: nothing that a site uses of others is left out."""

import json
from typing import Any, cast

import pytest

from components.making.manifest import Json
from foresite.cli import main
from foresite.delivery.servers.apiserver import ApiServer, RefusedError
from foresite.delivery.servers.prerequisites import (
    TABLE,
    missing_namespaces,
    missing_settings,
    prerequisites,
)
from schemas.facts.secret_references import secret_references
from schemas.kubernetes.objects import store
from tests.golden import every_site, objects
from tests.kit.repository import FLEET, ROOT, all_sites
from tests.kit.training_site import sites

FLAG = "--enable-bmh-name-based-preallocation"


@pytest.mark.parametrize("name", sorted(every_site()))
def test_every_kind_and_every_secret_of_a_site_is_listed(name: str) -> None:
    site = every_site()[name]
    found = prerequisites(site)
    kinds = {f"{each.key[1]}.{each.key[0]}" for each in objects(site)}
    native = {f"{kind.name.partition('/')[2]}" for kind in store.kinds().values() if kind.native}
    listed = {kind for each in found["operators"] for kind in each["kinds"]}
    assert listed <= kinds
    assert {kind.partition(".")[0] for kind in kinds - listed} <= {
        n.rpartition("/")[2] for n in native
    }
    assert sum(len(each["names"]) for each in found["secrets"]) == len(secret_references(site))
    assert {each["name"] for each in found["image"]} >= {"Kubernetes", "first boot"}
    assert ("data disks" in str(found["image"])) is bool(
        site.file.cache or site.file.first_boot.data_disks
    )
    assert site.file.cluster.endpoint in str(found["network"])
    assert "{" not in "".join(
        text for part in found.values() for each in part for text in each.get("needs", "")
    )


def test_every_operator_of_the_table_makes_crds_that_are_known() -> None:
    files = {kind.file for kind in store.kinds().values() if not kind.native}
    sources = {store.read(file)["source"]["source"] for file in files}
    assert TABLE["operators"].keys() <= sources


@pytest.mark.parametrize("name", sorted(all_sites()))
def test_the_report_fits_a_terminal(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root", str(FLEET), "prerequisites", name]) == 0
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= 80
    if name == "lab-1":
        page = (ROOT / "docs/prerequisites.md").read_text("utf-8")
        assert said.rstrip() in page, "docs/prerequisites.md: write the command's output again"
    assert main(["--root", str(FLEET), "prerequisites", name, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == prerequisites(all_sites()[name])


def test_what_others_set_up_for_queues_and_isolation_is_listed() -> None:
    found = prerequisites(sites()["kueue"])
    (kueue,) = (each for each in found["operators"] if each["name"].startswith("Kueue "))
    assert "pod" in kueue["configuration"]["integrations"]["frameworks"]
    said = json.dumps(found)
    assert "envvar-when-unprivileged = false" in said and "Flannel enforces none" in said
    (volcano,) = (
        each
        for each in prerequisites(sites()["volcano"])["operators"]
        if each["name"].startswith("Volcano ")
    )
    assert "webhooks" in volcano["notes"][0]
    # The operator sets the container toolkit by itself.
    assert "envvar-when-unprivileged" not in json.dumps(prerequisites(all_sites()["lab-1"]))


class Server:
    """An API server that has Deployments, or refuses to show them."""

    def __init__(self, answer: Json | None) -> None:
        self.answer = answer

    def get(self, path: str) -> Any:
        assert path.endswith("?labelSelector=cluster.x-k8s.io/provider%3Dinfrastructure-metal3")
        if self.answer is None:
            raise RefusedError(403, "forbidden")
        return self.answer


def deployment(*args: str) -> Json:
    pod = {"containers": [{"name": "manager", "args": list(args)}]}
    return {"items": [{"spec": {"template": {"spec": pod}}}]}


@pytest.mark.parametrize(
    ("answer", "wrong", "unknown"),
    [
        (deployment(f"{FLAG}=true"), 0, 0),
        (deployment("--v=2", FLAG), 0, 0),
        (deployment(f"{FLAG}=false"), 1, 0),
        (deployment(), 1, 0),
        ({"items": []}, 0, 1),
        (None, 0, 1),
    ],
)
def test_up_asks_for_the_argument_without_which_addresses_differ(
    answer: Json | None, wrong: int, unknown: int
) -> None:
    made = objects(every_site()["lab-1"])
    found = missing_settings(cast(ApiServer, Server(answer)), made)
    assert [len(each) for each in found] == [wrong, unknown]
    assert all(FLAG in text for each in found for text in each)


def test_up_asks_for_namespaces_that_it_does_not_make() -> None:
    class Asked:
        def __init__(self, there: bool | None) -> None:
            self.there, self.paths = there, list[str]()

        def get(self, path: str) -> Json | None:
            self.paths.append(path)
            if self.there is None:
                raise RefusedError(403, "forbidden")
            return {} if self.there else None

    made = objects(every_site()["lab-1"])
    for there, counts in ((True, [0, 0]), (False, [1, 0]), (None, [0, 1])):
        server = Asked(there)
        found = missing_namespaces(cast(ApiServer, server), made)
        assert [len(each) for each in found] == counts
        assert server.paths == ["/api/v1/namespaces/monitoring"]
        assert all("monitoring" in text for each in found for text in each)
