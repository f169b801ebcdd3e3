"""Who may import whom: the contracts in pyproject.toml hold, and each of them can be broken."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.kit.repository import ROOT

CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
CONTRACTS = {contract["id"]: contract["name"] for contract in CONFIG["contracts"]}
NOT_OURS = {"bench", "tests"}
"""Top-level folders of Python that nothing may import."""

# One import that each contract forbids, and the file that it is put into.
WRONG = {
    "schemas": ("schemas/model/problem.py", "foresite"),
    "components": ("components/making/manifest.py", "controlplane.client"),
    "siblings": ("components/machines/names.py", "components.pod_network.objects"),
    "shared": ("components/making/taints.py", "components.effects.rules"),
    "effects": ("components/effects/pods.py", "schemas.facts.site"),
    "pure": ("components/making/dump.py", "pulumi"),
    "shells": ("components/machines/hosts.py", "components.machines.component"),
    "preview": ("preview/result.py", "foresite.command"),
    "policies": ("policies/rule.py", "schemas.facts.site"),
    "facts": ("schemas/facts/rollout.py", "schemas.facts.site"),
    "commands": ("foresite/delivery/stack/register.py", "foresite.commands.up"),
    "inventory": ("foresite/commands/check.py", "foresite.inventory.netbox"),
    "delivery": ("foresite/delivery/stack/engines.py", "foresite.delivery.recovery.explained"),
    "schemas-rooms": ("schemas/kubernetes/quantities.py", "schemas.model.vocabulary"),
    "preview-rooms": ("preview/states/nodes.py", "preview.gates"),
    "controlplane": ("controlplane/ports.py", "schemas.facts.site"),
    "tools": ("tools/toolchain/version.py", "schemas.model.primitives"),
}


def lint(folder: Path) -> tuple[int, str]:
    command = [
        sys.executable, "-c", "from importlinter.cli import lint_imports_command as main; main()",
        "--no-cache",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_the_contracts_are_kept() -> None:
    code, output = lint(ROOT)
    assert code == 0, output


def test_each_contract_is_broken_by_an_import_that_it_forbids(tmp_path: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for package in CONFIG["root_packages"]:
        only_python = shutil.ignore_patterns("__pycache__", "data", "*.json", "*.sum")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=only_python)
    for file, module in WRONG.values():
        with (tmp_path / file).open("a") as text:
            text.write(f"\nimport {module}\n")
    code, output = lint(tmp_path)
    assert code == 1, output
    assert WRONG.keys() == CONTRACTS.keys()
    assert set(re.findall(r"^(.*) BROKEN", output, re.MULTILINE)) == set(CONTRACTS.values())


def test_every_package_is_under_contract() -> None:
    there = {path.parent.name for path in ROOT.glob("*/*.py")} - NOT_OURS
    assert there == set(CONFIG["root_packages"]), "give the new folder its import rules"


def test_nothing_imports_tests_or_benchmarks() -> None:
    wrong = re.compile(rf"^\s*(from|import) ({'|'.join(NOT_OURS)})\b", re.MULTILINE)
    for package in CONFIG["root_packages"]:
        for path in (ROOT / package).rglob("*.py"):
            assert not wrong.search(path.read_text("utf-8")), path


def test_the_core_runs_without_what_starts_slowly() -> None:
    program = """
import json, sys
from pathlib import Path

from tests.kit.repository import ROOT
import foresite.cli
from components.site import site_objects
from schemas.load import load

for loaded in load(Path.cwd()).values():
    assert site_objects(loaded.site)
print(json.dumps(sorted(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    modules = json.loads(done.stdout)
    assert not [name for name in modules if re.match(r"components\.\w+\.effects", name)]
    loaded = {name.partition(".")[0] for name in modules}
    assert loaded >= {"foresite", "schemas", "components", "yaml", "pydantic"}
    slow = {"pulumi", "pulumi_kubernetes", "grpc", "google", "jsonschema", "ruamel", "typer"}
    assert loaded & slow == set()
