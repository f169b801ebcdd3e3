"""The second opinion: what it says of a real engine's answer, and that nothing is implied."""

import argparse
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from controlplane import ControlPlane
from foresite.command import FAILED, FOUND, OK
from foresite.commands import apply, opinion
from foresite.commands.opinion import MARK, Opinion, report, tries
from foresite.commands.up import select
from foresite.delivery.stack.applied import message
from foresite.delivery.stack.engine import Engine
from foresite.delivery.stack.engines import engine_for
from foresite.delivery.stack.live import expected_objects, read
from foresite.delivery.stack.register import register
from schemas.facts.site import Site
from schemas.load import load_site
from tests.kit.preview_repository import Repository
from tests.kit.repository import ROOT, all_sites
from tests.kit.trial_repository import small_sites, use_trial

LAB = all_sites()["lab-1"]
ONE, TWO = ("Machines", "Thing/one"), ("Machines", "Thing/two")


def text(*opinions: Opinion) -> str:
    return "\n".join(report(list(opinions)))


def test_where_the_two_differ_is_named() -> None:
    said = text(Opinion(LAB, 16, "yes", frozenset({ONE}), frozenset({TWO})))
    assert said.startswith(f"{MARK}\n")
    assert "**differ**" in said
    assert "only the offline preview changes `Thing/one`" in said
    assert "only Pulumi changes `Thing/two`" in said


def test_where_no_server_was_asked_nothing_is_said_to_be_read() -> None:
    said = text(Opinion(LAB, failed="no answer"))
    assert "not asked" in said
    assert "agree" not in said and "objects |" not in said


def test_text_of_others_is_no_markup() -> None:
    hostile = "`x` @team | [a](https://example.com) <img src=x>\n# head\u202e"
    for each in (Opinion(LAB, failed=hostile), Opinion(LAB, refused=hostile)):
        (line,) = (line for line in text(each).splitlines() if "@team" in line)
        assert line.endswith("`") and line.count("`") == 4
        assert "\\| " in line and "\u202e" not in line


def test_a_long_report_is_cut_short() -> None:
    keys = frozenset(("Machines", f"Thing/{'x' * 200}-{number}") for number in range(5000))
    said = text(*[Opinion(LAB, theirs=keys, refused="")] * 100)
    assert len(said.encode()) < 60_000
    assert "50 more sites" in said


def options(root: Path, *sites: str, base: str = "HEAD~1") -> argparse.Namespace:
    return argparse.Namespace(
        root=root, sites=[*sites], trial=True, format="text", base=base, plan=False,
        out=root / "report" / "comment.md", allow=[], no_wait=False, minutes=None,
    )  # fmt: skip


def row(root: Path, site: str) -> list[str]:
    """A site's cells in the report that was written."""
    lines = (root / "report" / "comment.md").read_text().splitlines()
    (found,) = (line for line in lines if line.startswith(f"| `{site}` "))
    return [cell.strip() for cell in found.strip("|").split("|")]


@pytest.fixture
def repository(api: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    use_trial(monkeypatch, api)
    return small_sites(tmp_path, {"fuji-1": 0, "gifu-1": 1})


def loaded(repository: Repository, name: str) -> Site:
    site = load_site(repository.root, name).site
    assert site is not None
    return site


def objects(root: Path) -> int:
    """How many objects fuji-1 has on the management cluster."""
    site = load_site(root, "fuji-1").site
    assert site is not None
    return len(expected_objects(site))


@pytest.mark.proof
@pytest.mark.pulumi
def test_pulumi_is_asked_about_the_sites_that_a_change_concerns(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repository.root
    first = repository.git("rev-parse", "HEAD")
    assert apply.run(options(root, "fuji-1")) == OK
    repository.replace("sites/fuji-1.yaml", "taints: []", "taints: [], kubelet: {max_pods: 60}")
    repository.commit("fewer pods")
    assert opinion.run(options(root)) == OK
    assert row(root, "fuji-1")[1:] == [
        "`mgmt-lab`", f"{objects(root)} objects", "yes", "1 object", "1 object", "agree",
    ]  # fmt: skip
    assert "gifu-1" not in (root / "report" / "comment.md").read_text()

    # A site that was never applied has no stack to be asked about.
    assert opinion.run(options(root, "gifu-1")) == FAILED
    assert row(root, "gifu-1")[-1] == "not asked"

    # The stack says that the first commit is applied; in truth it is what HEAD says.
    engine = engine_for(root, loaded(repository, "fuji-1"), trial=True)
    select(engine)
    assert register(engine, loaded(repository, "fuji-1"), message(first))
    assert opinion.run(options(root)) == FOUND
    assert row(root, "fuji-1")[-3:] == ["1 object", "0 objects", "**differ**"]


# --- the accounts of docs/ci-accounts.yaml --------------------------------------------------------


def acting_as(engine: Engine, user: str, folder: Path) -> Engine:
    """The engine with a kubeconfig that makes it another user."""
    kubeconfig = yaml.safe_load(Path(engine.environment["KUBECONFIG"]).read_text())
    for each in kubeconfig["users"]:
        each["user"]["as"] = user
    path = folder / user.replace(":", "-")
    path.write_text(yaml.safe_dump(kubeconfig))
    return replace(engine, environment={**engine.environment, "KUBECONFIG": str(path)})


def label(engine: Engine, kind: str, name: str, *more: str) -> str:
    """The complaint of kubectl about setting a label; empty where it went well."""
    command = [str(engine.kubectl), "--context", "mgmt-lab", "label", "--overwrite"]
    done = subprocess.run(
        [*command, "--namespace", "fuji-1", kind, name, "tried=yes", *more],
        env=dict(engine.environment), capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stderr


@pytest.mark.proof
@pytest.mark.pulumi
def test_the_documented_accounts_may_do_their_work_and_no_more(
    api: ControlPlane, repository: Repository
) -> None:
    with api.client() as client:
        for each in yaml.safe_load_all((ROOT / "docs" / "ci-accounts.yaml").read_text()):
            client.apply(each)
    site = loaded(repository, "fuji-1")
    own = engine_for(repository.root, site, trial=True)
    apply_, drift, preview = (
        acting_as(own, f"github:{name}", repository.root)
        for name in ("clusters", "clusters-drift", "clusters-preview")
    )
    select(apply_)
    assert register(apply_, site)
    for engine in (drift, preview):
        assert len(read(engine)) == len(expected_objects(site))
    assert "cannot patch" in label(drift, "cluster", "fuji-1", "--dry-run=server")
    until = time.monotonic() + 60  # the API server takes a moment to heed a policy
    while not label(preview, "cluster", "fuji-1") and time.monotonic() < until:
        time.sleep(0.05)
    assert "may only try" in label(preview, "cluster", "fuji-1")
    assert label(preview, "cluster", "fuji-1", "--dry-run=server") == ""
    # The policy does not guard itself.
    policy = ("validatingadmissionpolicy", "foresite-only-tries")
    assert "cannot patch" in label(preview, *policy)
    # What the report says of it.
    objects = {each.kind: each for each in expected_objects(site).values()}
    assert tries(preview, site, [objects["Cluster"], objects["BareMetalHost"]]) == "yes"
    assert "no: " in tries(preview, site, [objects["ValidatingAdmissionPolicy"]])
    assert "no: " in tries(drift, site, [objects["Cluster"]])
    assert tries(drift, site, []) == "no change to try"
