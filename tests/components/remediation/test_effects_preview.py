"""``foresite preview --nodes``: the nodes' last known state, read and shown; what it takes for it,
and what it says of files that are none."""

import json
from pathlib import Path
from typing import Any

import pytest

from components.making.faults import CONDITIONS
from components.making.manifest import Json
from foresite.cli import main
from foresite.commands.preview import FORMATS
from preview.states import nodes
from preview.states.nodes import NodesError, read
from tests.kit.preview_repository import Repository

TOKYO = "sites/tokyo-1.yaml"
CONTEXT = "  endpoint: 10.16.0.10"
HEALER = "    - {name: gpu, pools: [v100, a100, h100], max_unavailable: 2}\n"
LATER, EARLIER = "2026-11-22T04:00:00Z", "2026-11-22T03:00:00Z"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """tokyo-1, applied; the change adds a healer."""
    found = Repository(tmp_path_factory.mktemp("nodes") / "repository")
    found.replace(TOKYO, CONTEXT, f"{CONTEXT}\n  context: tokyo-1")
    found.replace(TOKYO, HEALER, "")
    found.commit("without the healer")
    found.replace(TOKYO, "  healers:\n", f"  healers:\n{HEALER}")
    return found


def run(repository: Repository, *arguments: str) -> int:
    root = str(repository.root)
    return main(["--root", root, "preview", "--base", "HEAD", *arguments])


def item(name: str, status: str = "False", message: str = "no fault is seen") -> Json:
    condition = {"status": status, "message": message, "lastHeartbeatTime": EARLIER}
    types = tuple(CONDITIONS.values())
    ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": LATER}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"node.cluster.x-k8s.io/pool": "v100"}},
        "spec": {},
        "status": {"conditions": [ready, *({"type": each, **condition} for each in types)]},
    }


def listing(repository: Repository, faulty: str) -> Json:
    """Every host as a node; one has lost a card."""
    lines = repository.text("sites/tokyo-1.hosts.csv").splitlines()[1:]
    names = [line.split(",")[0] for line in lines]
    found = [item(name) for name in names if name != faulty]
    lost = item(faulty)
    lost["status"]["conditions"][1] |= {"status": "True", "message": "7 of 8 accelerators work (x)"}
    return {"apiVersion": "v1", "kind": "List", "items": [*found, lost]}


FAULTY = "tokyo-1-a-045"


def written(folder: Path, found: Any, name: str = "tokyo-1.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(found), "utf-8")
    return path


@pytest.mark.parametrize("as_folder", [False, True])
def test_the_node_with_the_fault_is_the_one_that_is_rebooted(
    repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str], as_folder: bool
) -> None:
    path = written(tmp_path, listing(repository, FAULTY))
    given = str(tmp_path if as_folder else path)
    assert run(repository, "--format", "json", "--nodes", given) == 0
    document = json.loads(capsys.readouterr().out)
    (site,) = document["sites"]
    verdicts = {each["host"]: each["impact"] for each in site["hosts"]}
    assert {name for name, impact in verdicts.items() if impact != "none"} == {FAULTY}
    assert verdicts[FAULTY] == "reboot"
    assert document["nodes"] == {"tokyo-1": {"number": 400, "when": LATER}}


def test_without_it_every_host_of_the_pools_may_be_the_one(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(repository, "--fail-on", "drain") == 1
    assert "--nodes" in capsys.readouterr().out


def test_gates_hold_for_what_the_state_says(repository: Repository, tmp_path: Path) -> None:
    sick = written(tmp_path, listing(repository, FAULTY))
    assert run(repository, "--nodes", str(sick), "--fail-on", "drain") == 1
    well = listing(repository, FAULTY)
    well["items"][-1] = item(FAULTY)
    given = str(written(tmp_path, well))
    assert run(repository, "--nodes", given, "--fail-on", "drain,unknown") == 0


@pytest.mark.parametrize("form", FORMATS)
def test_every_report_says_how_old_the_state_is(
    repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    path = written(tmp_path, listing(repository, FAULTY))
    assert run(repository, "--format", form, "--nodes", str(path)) == 0
    text = capsys.readouterr().out
    assert LATER in text and "7 of 8 accelerators" in text


# --- files that are none --------------------------------------------------------------------------
NODE = item("tokyo-1-a-045")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "tokyo-1.json:1:1: "),
        ('{"items": [\n {"kind": "Node",}]}', "tokyo-1.json:2:"),
        ("items: []", "tokyo-1.json:1:1: "),
        ("[" * 100_000, "tokyo-1.json:1: nested too deep"),
        ("[]", "no list of nodes"),
        ('"nodes"', "no list of nodes"),
        ('{"items": {}}', "no list of nodes"),
        ('{"items": []}', "none of the 0 nodes"),
        ('{"items": [7]}', "items[0] is no Node but 'int'"),
        ('{"items": [{"kind": "Pod"}]}', "items[0] is no Node but 'Pod'"),
        ('{"items": [{"kind": "Node"}]}', "items[0].metadata.name is missing"),
        ('{"items": [{"metadata": 7}]}', "items[0].metadata is no map"),
        ('{"items": [{"metadata": {"name": ["a"]}}]}', "items[0].metadata.name is missing"),
        ('{"items": [{"metadata": {"name": "a"}, "spec": 1}]}', "items[0].spec is no map"),
        (
            '{"items": [{"metadata": {"name": "a"}, "status": {"conditions": [1]}}]}',
            "items[0].status.conditions is no list of maps",
        ),
        (
            '{"items": [{"metadata": {"name": "a"}, "spec": {"taints": {}}}]}',
            "items[0].spec.taints is no list of maps",
        ),
        (json.dumps({"items": [NODE, NODE]}), "items[1]: node 'tokyo-1-a-045' is there twice"),
        (json.dumps({"items": [item("osaka-1")]}), "are they another site's?"),
    ],
)
def test_a_faulty_or_foreign_file_is_said_to_be_so(
    repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    path = tmp_path / "tokyo-1.json"
    path.write_text(text, "utf-8")
    assert run(repository, "--nodes", str(path)) == 2
    error = capsys.readouterr().err
    assert error.startswith("foresite: ") and says in error and len(error.splitlines()) == 1


def test_bytes_that_are_no_text_are_named_by_their_line(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'{"items":\n["\xff"]}')
    with pytest.raises(NodesError, match=r"a\.json:2: no text"):
        read(path)


def test_a_huge_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "LARGEST", 10)
    path = written(tmp_path, {"items": [NODE]})
    with pytest.raises(NodesError, match="more than"):
        read(path)


def test_a_file_that_is_not_there_is_said_to_be_so(
    repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(repository, "tokyo-1", "--nodes", str(tmp_path / "none.json")) == 2
    assert "none.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "sites", "says"),
    [
        ("nodes.json", (), "of which site are these nodes"),
        ("nodes.json", ("tokyo-1", "lab-1"), "of which site are these nodes"),
        ("nodes.json", ("tokyo-1",), None),
        ("tokyo-1.json", (), None),
    ],
)
def test_whose_nodes_they_are_has_to_be_clear(
    repository: Repository,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    sites: tuple[str, ...],
    says: str | None,
) -> None:
    path = written(tmp_path, listing(repository, FAULTY), name)
    assert run(repository, *sites, "--nodes", str(path)) == (2 if says else 0)
    assert says is None or says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "says"), [("osaka-9.json", "there is no site 'osaka-9'"), ("a.txt", "no file .json")]
)
def test_a_folder_has_a_file_for_each_site(
    repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, says: str
) -> None:
    written(tmp_path, {"items": []}, name)
    assert run(repository, "--nodes", str(tmp_path)) == 2
    assert says in capsys.readouterr().err


def test_many_sites_are_looked_at_by_several_processes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The given state travels to them: with more sites than are done in one."""
    from foresite.parallel import FEW

    repository = Repository(tmp_path / "repository")
    repository.replace(TOKYO, CONTEXT, f"{CONTEXT}\n  context: tokyo-1")
    repository.replace(TOKYO, HEALER, "")
    others = [f"other-{number}" for number in range(FEW)]
    for name in others:
        repository.write(f"sites/{name}.yaml", "site: [\n")
    repository.commit("without the healer")
    repository.replace(TOKYO, "  healers:\n", f"  healers:\n{HEALER}")
    for name in others:
        repository.write(f"sites/{name}.yaml", "site: {\n")
    path = written(tmp_path, listing(repository, FAULTY))
    assert run(repository, "--format", "json", "--nodes", str(path)) == 2
    document = json.loads(capsys.readouterr().out)
    assert len(document["sites"]) == FEW + 1
    (tokyo,) = (each for each in document["sites"] if each["name"] == "tokyo-1")
    assert {each["host"] for each in tokyo["hosts"] if each["impact"] == "reboot"} == {FAULTY}
