"""The end of a site: what is left of its objects, what the preview says of it, and what other
commands do with a site that ends."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from components.effects.vocabulary import Action, Impact
from components.making.decommission import (
    MAY_BE_DELETED,
    ReleasedObject,
    format_release,
    permit_deletion,
    read,
)
from components.making.manifest import Manifest, Target
from components.site import objects_by_name, site_objects
from foresite.cli import main
from foresite.delivery.rings import steps as steps_module
from foresite.delivery.rings.steps import Step
from foresite.delivery.stack.release import leaving
from foresite.delivery.stack.stated import Stated, read_state
from policies.cluster import RELEASE_ANNOTATION
from preview.gates import gates
from preview.report import comment, document, html, text
from preview.result import Preview, SitePreview, State
from schemas.facts.site import Site
from schemas.load import load_site
from schemas.model.site_file import Decommission
from tests.kit.preview_repository import Repository
from tests.kit.repository import all_sites

SITES = all_sites()
SITE = "lab-1"
FILE, HOSTS = f"sites/{SITE}.yaml", f"sites/{SITE}.hosts.csv"
REASON = "The hall is given back."
ENDS = f"decommission: {{reason: {REASON}}}\n"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def ending(site: Site) -> Site:
    file = site.file.model_copy(update={"decommission": Decommission(reason=REASON)})
    return replace(site, file=file)


def decommission(repository: Repository) -> None:
    repository.write(FILE, repository.text(FILE) + ENDS)


def remove(repository: Repository) -> None:
    for file in (FILE, HOSTS):
        (repository.root / file).unlink()


def judged(repository: Repository) -> tuple[Preview, SitePreview]:
    found = repository.preview()
    (site,) = found.sites
    return found, site


def impacts(site: SitePreview) -> set[Impact]:
    """The impacts on the site's hosts; each has to be there."""
    assert len(site.hosts) == len(SITES[site.name].hosts)
    return {host.impact for host in site.hosts}


# --- objects --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SITES)
def test_of_a_site_that_ends_its_hosts_stay_and_nothing_guards_them(name: str) -> None:
    site = SITES[name]
    left = [each for made in site_objects(ending(site)).values() for each in made]
    counts = {kind: sum(each.kind == kind for each in left) for kind in ("Namespace", "Cluster")}
    assert counts == {"Namespace": 1, "Cluster": 0}
    assert sum(each.kind == "BareMetalHost" for each in left) == len(site.hosts)
    for each in left:
        assert each.target is Target.MANAGEMENT
        assert not each.protect and not each.keep
        annotations = each.body["metadata"]["annotations"]
        assert annotations[MAY_BE_DELETED] == REASON
        assert "Prune=false" not in str(annotations) and "disabled" not in annotations.values()


@pytest.mark.parametrize("name", SITES)
def test_what_a_host_is_does_not_change_with_the_end(name: str) -> None:
    """Else the end would change hosts that Cluster API still has to wipe."""
    before, after = objects_by_name(SITES[name]), objects_by_name(ending(SITES[name]))
    for key, left in after.items():
        was = before[key]
        assert (left.key, left.ignore) == (was.key, was.ignore)
        assert left.body.get("spec") == was.body.get("spec")
        labels = [each.body["metadata"]["labels"] for each in (left, was)]
        assert labels[0] == labels[1]


def test_the_policy_of_the_management_cluster_asks_for_the_same_annotation() -> None:
    assert MAY_BE_DELETED == RELEASE_ANNOTATION


def test_what_else_is_said_to_argo_cd_stays() -> None:
    options = "argocd.argoproj.io/sync-options"
    guarded = {options: "Prune=false,Delete=false,ServerSideApply=true", "a": "b"}
    body = {"kind": "X", "metadata": {"name": "x", "annotations": guarded}}
    wanted = {options: "ServerSideApply=true", "a": "b", MAY_BE_DELETED: REASON}
    assert permit_deletion(body, REASON)["metadata"]["annotations"] == wanted
    assert guarded[options].startswith("Prune=false"), "a body is never changed in place"


# --- what the state gives up ----------------------------------------------------------------------


def resource(manifest: Manifest, component: str) -> dict[str, object]:
    """An object as Pulumi's state has it."""
    kind = f"kubernetes:{manifest.body['apiVersion']}:{manifest.kind}"
    start = "urn:pulumi:s::foresite::foresite:components"
    return {
        "urn": f"{start}:{component}${kind}::{manifest.name}",
        "type": kind,
        "inputs": manifest.body,
        "protect": manifest.protect,
        "retainOnDelete": manifest.keep,
        "provider": f"urn:pulumi:s::foresite::pulumi:providers:kubernetes::{manifest.target}::1",
    }


def held(*resources: Mapping[str, object]) -> tuple[Stated, ...]:
    return read_state({"deployment": {"resources": list(resources)}}).held


def test_the_state_gives_up_all_but_what_is_left() -> None:
    site = SITES[SITE]
    # Of anything that is no object nothing is given up.
    stack = {"urn": "urn:pulumi:s::foresite::pulumi:pulumi:Stack::foresite-s", "type": "stack"}
    machines = held(stack, *(resource(e, "Machines") for e in site_objects(site)["machines"]))
    kept = {each.name for each in site_objects(ending(site))["machines"]}
    gone = leaving(ending(site), machines)
    assert {each.urn.rpartition("::")[2] for each in gone} == {
        each.name for each in site_objects(site)["machines"]
    } - kept
    # Nor is what is left.
    assert leaving(ending(site), [each for each in machines if each not in gone]) == []


def test_a_cluster_goes_before_what_it_refers_to_and_its_own_objects_are_forgotten(
    tmp_path: Path,
) -> None:
    body = {"metadata": {"name": "x"}}
    kinds = {
        "kubernetes:cluster.x-k8s.io/v1beta2:Cluster": True,
        "kubernetes:cluster.x-k8s.io/v1beta2:MachineDeployment": False,
        "kubernetes:infrastructure.cluster.x-k8s.io/v1beta2:Metal3Cluster": False,
    }
    objects = [ReleasedObject("Machines", each, "x", Target.MANAGEMENT, body) for each in kinds]
    assert [each.goes_first for each in objects] == list(kinds.values())
    inside = ReleasedObject("Teams", "kubernetes:core/v1:Namespace", "x", Target.SITE, body)
    assert [each.is_forgotten for each in (*objects, inside)] == [False, False, False, True]
    assert inside.last_body(REASON) == body
    assert objects[0].last_body(REASON)["metadata"]["annotations"] == {MAY_BE_DELETED: REASON}
    file = tmp_path / "leaving.json"
    file.write_text(format_release([*objects, inside]))
    assert read(file) == [*objects, inside]


# --- the preview ----------------------------------------------------------------------------------


def test_a_decommission_takes_every_host_and_has_to_be_named(repository: Repository) -> None:
    decommission(repository)
    preview, site = judged(repository)
    assert site.state is State.DECOMMISSIONED
    assert impacts(site) == {Impact.REMOVE}
    kinds = {each.what: each.count for each in site.deletions}
    assert kinds["hosts"] == 3 and kinds["Cluster"] == 1
    assert "BareMetalHost" not in kinds and "Namespace" not in kinds
    total = sum(kinds.values())
    (gate,) = gates(preview, {"remove": total - 1}, {})
    assert f"remove={total}" in gate.fix
    assert gates(preview, {"remove": total}, {}) == ()
    actions = {each.change.name: each.action for each in site.objects}
    for name in ("Cluster", "KubeadmControlPlane", "IPPool"):
        assert actions["machines", name] is Action.DELETED
    for name in ("BareMetalHost/lab-1-lab-001", "Namespace"):
        assert actions["machines", name] is Action.CHANGED
    assert "without a drain" in text(preview)


def test_where_the_own_cluster_is_named_what_it_holds_is_lost_too(repository: Repository) -> None:
    repository.replace(FILE, "  endpoint:", f"  context: {SITE}\n  endpoint:")
    repository.commit("it answers")
    decommission(repository)
    _, site = judged(repository)
    assert {each.what: each.count for each in site.deletions}["Namespace"] > 1


def test_a_file_that_is_gone_after_its_end_does_nothing(repository: Repository) -> None:
    decommission(repository)
    repository.commit("the end")
    remove(repository)
    preview, site = judged(repository)
    assert site.state is State.REMOVED
    assert impacts(site) == {Impact.NONE}
    assert {each.action for each in site.objects} == {Action.LEFT}
    assert gates(preview, {}, dict.fromkeys(["unknown", "remove", "refused"], 0)) == ()
    assert "pulumi destroy" in text(preview)


@pytest.mark.parametrize("allow", [0, 999_999])
def test_a_file_that_vanishes_passes_with_no_number(repository: Repository, allow: int) -> None:
    remove(repository)
    preview, site = judged(repository)
    assert site.state is State.VANISHED
    # Nothing is deleted, and that is what is said.
    assert impacts(site) == {Impact.NONE}
    assert site.deletions == ()
    (gate,) = gates(preview, {"remove": allow, "grow": allow}, {})
    assert gate.name == "vanished"
    assert SITE in gate.message and "decommission:" in gate.fix


def test_an_end_and_a_vanished_file_in_one_change_is_a_vanished_file(
    repository: Repository,
) -> None:
    """A change that was merged at once was never applied in between."""
    decommission(repository)
    remove(repository)
    assert judged(repository)[1].state is State.VANISHED


def test_an_end_that_is_taken_back_installs_the_hosts_anew(repository: Repository) -> None:
    before = repository.text(FILE)
    decommission(repository)
    repository.commit("the end")
    repository.write(FILE, before)
    preview, site = judged(repository)
    assert impacts(site) == {Impact.ADD}
    assert gates(preview, {}, dict.fromkeys(["unknown", "remove", "reimage", "refused"], 0)) == ()
    actions = {each.change.kind: each.action for each in site.objects}
    assert actions["Cluster"] is Action.ADDED


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("kubernetes: v1.34.3", "kubernetes: v1.34.8"),
        ("ntp: [10.18.0.2]", "ntp: [10.18.0.3]"),
        ("  data_path: /srv/nvme/cache", "  data_path: /srv/nvme/other"),
        ("accelerators: {t4-pcie-16gb: 2}", "accelerators: {t4-pcie-16gb: 1}"),
    ],
)
def test_at_its_end_nothing_of_a_site_can_change(
    repository: Repository, old: str, new: str
) -> None:
    decommission(repository)
    repository.commit("the end")
    repository.replace(FILE, old, new)
    assert repository.preview().sites == ()


def test_at_its_end_a_host_that_moves_has_no_machine_to_lose(repository: Repository) -> None:
    repository.replace(FILE, "role: control-plane, hardware", "role: control-plane, hardware")
    decommission(repository)
    repository.commit("the end")
    repository.hosts(SITE, lambda rows: rows[0].update(rack="lab-02"))
    preview, site = judged(repository)
    assert site.state is State.CHANGED
    assert impacts(site) == {Impact.NONE}
    assert gates(preview, {}, dict.fromkeys(["unknown", "refused"], 0)) == ()


def test_at_its_end_a_host_that_leaves_the_list_has_to_be_named(repository: Repository) -> None:
    file = "sites/tsukuba-1.yaml"
    repository.write(file, repository.text(file) + ENDS)
    repository.commit("the end")
    repository.hosts("tsukuba-1", lambda rows: rows.__delitem__(slice(10, 12)))
    preview, site = judged(repository)
    assert site.counts[Impact.REMOVE] == 2
    assert {each.what: each.count for each in site.deletions} == {"hosts": 2}
    assert [gate.name for gate in gates(preview, {"remove": 1}, {})] == ["remove"]
    assert {each.action for each in site.objects} == {Action.DELETED}


def test_a_site_that_begins_at_its_end_gets_no_machine(repository: Repository) -> None:
    yaml, hosts = repository.text(FILE), repository.text(HOSTS)
    remove(repository)
    repository.commit("without it")
    repository.write(FILE, yaml + ENDS)
    repository.write(HOSTS, hosts)
    _, site = judged(repository)
    assert impacts(site) == {Impact.NONE}


@pytest.mark.parametrize("show", [text, comment, html, document])
def test_every_report_says_what_was_checked_and_that_no_server_was(
    repository: Repository, show: object
) -> None:
    assert callable(show)
    for preview in (repository.preview(), _decommissioned(repository)):
        said = show(preview)
        for word in ("offline", "admission", "quotas", "drift"):
            assert word in said, (show, word)


def _decommissioned(repository: Repository) -> Preview:
    decommission(repository)
    return repository.preview()


def test_a_comment_that_is_cut_says_it_too(repository: Repository) -> None:
    for name in ("tokyo-1", "tsukuba-1"):
        file = f"sites/{name}.yaml"
        repository.write(file, repository.text(file) + ENDS)
    said = comment(repository.preview(), limit=8_000)
    assert len(said.encode()) <= 8_000
    assert "Left out here" in said
    assert "no API server was asked" in said


# --- the rules of files, and other commands -------------------------------------------------------


@pytest.mark.parametrize(
    "end",
    ["decommission: {}", "decommission: {reason: short}", "decommission: true",
     'decommission: {reason: "two\\nlines of a reason"}'],
)  # fmt: skip
def test_an_end_needs_a_reason(repository: Repository, end: str) -> None:
    repository.write(FILE, f"{repository.text(FILE)}{end}\n")
    problems = load_site(repository.root, SITE).problems
    assert problems and all(each.path.startswith("decommission") for each in problems)


def test_the_other_rules_hold_at_the_end(repository: Repository) -> None:
    decommission(repository)
    assert load_site(repository.root, SITE).problems == ()
    repository.replace(FILE, "hardware: t4-pcie-16gb-x1", "hardware: t4-pcie-16gb-x2")
    assert load_site(repository.root, SITE).problems


def foresite(repository: Repository, *arguments: str) -> int:
    return main(["--root", str(repository.root), *arguments])


def test_no_job_is_written_for_a_site_that_ends(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    assert foresite(repository, "job", SITE) == 0
    decommission(repository)
    capsys.readouterr()
    assert foresite(repository, "job", SITE) == 1
    assert "is decommissioned" in capsys.readouterr().out


def test_a_new_site_does_not_end_like_the_one_it_is_made_of(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    decommission(repository)
    assert foresite(repository, "new", "osaka-1", "--like", SITE) == 0
    made = repository.text("sites/osaka-1.yaml")
    assert "decommission" not in made
    assert "monitoring:" in made


def test_a_plan_names_what_ends_and_puts_it_last(repository: Repository) -> None:
    sites = [ending(SITES[SITE]), SITES["tsukuba-1"]]
    steps = [Step(each, None, None, steps_module.State.DUE) for each in sites]  # type: ignore[arg-type]  # only their names are asked
    assert [each.ends for each in steps] == [True, False]
    assert sorted(steps, key=lambda each: each.ring) == [steps[1], steps[0]]
    assert SITES[SITE].file.ring < SITES["tsukuba-1"].file.ring


def test_explain_says_what_is_left_of_a_value(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    decommission(repository)
    assert foresite(repository, "explain", SITE, "decommission.reason") == 0
    said = capsys.readouterr().out
    assert REASON in said and "BareMetalHost" in said
    assert foresite(repository, "explain", SITE, "cluster.kubernetes") == 0
    assert "no object" in capsys.readouterr().out
