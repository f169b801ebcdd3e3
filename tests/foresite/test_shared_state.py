"""State in stores that many machines reach: an object store and PostgreSQL, both the real servers.

Two operators are two caches of Foresite's: neither sees the notes and file locks of the other, as
on two machines."""

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import yaml

from components.making.manifest import Json
from controlplane import ControlPlane
from foresite.delivery.stack.engine import UNDER_WAY, Engine, EngineError
from schemas.load import load_site
from tests.kit.repository import ROOT
from tests.kit.state_stores import POSTGRES_PASSWORD, SECRET, Store, postgres, s3
from tests.kit.trial import expect, kill, manifests_of
from tests.kit.trial_repository import small_sites
from tests.kit.waiting import until
from tools.toolchain import locate
from tools.toolchain.environment import environment

pytestmark = [pytest.mark.pulumi, pytest.mark.proof]

SITE = "chiba-1"
PASSPHRASE = "pass-of-the-states"


@pytest.fixture(scope="module", params=[s3, postgres], ids=["s3", "postgres"])
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    with request.param(tmp_path_factory.mktemp("store")) as found:
        yield found


def surroundings(store: Store, folder: Path) -> dict[str, str]:
    """An operator's environment, with a cache of its own."""
    login = {"PULUMI_BACKEND_URL": store.url, "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE}
    base = environment(locate(["pulumi"]), folder / "unused")
    return base | dict(store.environment) | login | {"FORESITE_CACHE": str(folder / "cache")}


def engine(store: Store, folder: Path, stack: str, project: str = "foresite") -> Engine:
    """Pulumi for a stack without objects."""
    folder.mkdir(exist_ok=True)
    (folder / "Pulumi.yaml").write_text(f"name: {project}\nruntime: python\n")
    env = surroundings(store, folder)
    return Engine(Path(env["PULUMI_HOME"]) / "bin" / "pulumi", env, folder, stack, folder / "notes")


def test_a_stack_is_locked_and_named_by_itself(store: Store, tmp_path: Path) -> None:
    """Whatever else the store has: names alike, and another project's stack of the same name."""
    one, alike = (engine(store, tmp_path, name) for name in ("lab-1", "lab-10"))
    other = engine(store, tmp_path / "other", "lab-1", project="another")
    assert one.last_record() is None and one.locks() == []  # there is no such stack yet
    for each in (one, alike, other):
        each.select()
    alike.mark("a" * 40)
    marks = [each.tags().get(UNDER_WAY) for each in (one, other, alike)]
    assert marks == [None, None, "a" * 40]
    done = one.run("stack", "ls", "--json")
    assert {each["name"] for each in json.loads(done.stdout)} == {"lab-1", "lab-10"}
    assert one.locks() == [] == alike.locks()
    exported = one.export_state()
    assert exported is not None
    one.replace_state(exported)
    assert one.export_state() == exported
    with pytest.raises(EngineError, match="lab-1"):
        alike.replace_state(state_of("lab-1", exported))
    env = {**one.environment, "PULUMI_CONFIG_PASSPHRASE": "another"}
    assert "incorrect passphrase" in replace(one, environment=env).refresh().stderr


def test_an_import_that_is_killed_leaves_a_whole_state(store: Store, tmp_path: Path) -> None:
    """Wherever it was: also with its lock, which a person takes away."""
    one = engine(store, tmp_path, "killed-1")
    one.select()
    exported = one.export_state()
    file = tmp_path / "saved.json"
    file.write_text(json.dumps(exported))
    command = [str(one.pulumi), "stack", "import", "--stack", one.stack, "--file", str(file)]
    for seconds in (0.2, 0.4, 0.6, 0.8):
        with subprocess.Popen(command, cwd=tmp_path, env=one.environment) as process:
            time.sleep(seconds)
            process.kill()
        assert one.export_state() == exported
    assert all(each.alive is None for each in one.locks())
    one.cancel()
    assert one.locks() == [] and exported is not None
    one.replace_state(exported)


def state_of(stack: str, exported: Json) -> Json:
    """The state of a stack that has one resource: itself."""
    kind = "pulumi:pulumi:Stack"
    urn = f"urn:pulumi:{stack}::foresite::{kind}::foresite-{stack}"
    resources = [{"urn": urn, "custom": False, "type": kind}]
    return {**exported, "deployment": {**exported["deployment"], "resources": resources}}


def test_a_store_that_is_gone_or_refuses_is_named_without_its_secrets(
    store: Store, tmp_path: Path
) -> None:
    one = engine(store, tmp_path, "lab-1")
    wrong = dict.fromkeys(store.environment, "wrong")
    cases = {
        store.url: wrong,  # no rights
        store.url.replace("states", "elsewhere").replace("/postgres", "/elsewhere"): {},
        store.url.replace("foresite@", "foresite:wrong-password@"): wrong | {"PGPASSWORD": ""},
    }
    for url, more in cases.items():
        bad = replace(one, environment={**one.environment, "PULUMI_BACKEND_URL": url, **more})
        with pytest.raises(EngineError) as refused:
            bad.last_record()
        for secret in (SECRET, POSTGRES_PASSWORD, PASSPHRASE, "wrong-password"):
            assert secret not in str(refused.value)
        assert bad.locks() == []  # what refuses says it again at the next question


@dataclass
class Operator:
    """Somebody who runs Foresite's command line on a machine of their own."""

    root: Path
    env: dict[str, str]

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "foresite", "--root", str(self.root), *arguments]
        return subprocess.Popen(
            command, cwd=ROOT, env=self.env, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    def run(self, *arguments: str, code: int = 0) -> str:
        process = self.start(*arguments)
        said, _ = process.communicate(timeout=900)
        assert process.returncode == code, said
        return said

    def pulumi(self, *arguments: str) -> str:
        command = ["pulumi", *arguments, "--non-interactive"]
        done = subprocess.run(
            command, cwd=self.root, env=self.env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def operators(api: ControlPlane, tmp_path: Path) -> Iterator[tuple[Operator, Operator, Path]]:
    """Two of them, with one repository and one bucket."""
    repository = small_sites(tmp_path / "repository", {SITE: 0})
    context = yaml.safe_load(repository.text(f"sites/{SITE}.yaml"))["management"]
    with s3(tmp_path) as store:
        assert store.bucket is not None
        # One object after the other, so that a run can be met half-way; and states as docs/fleet.md
        # has them at a thousand sites.
        more = {"KUBECONFIG": str(api.kubeconfig([context])), "PULUMI_PARALLEL": "1",
                "PULUMI_DIY_BACKEND_GZIP": "true"}  # fmt: skip
        made = [
            Operator(repository.root, surroundings(store, tmp_path / name) | more)
            for name in ("one", "other")
        ]
        yield made[0], made[1], store.bucket


def test_two_operators_a_dead_one_and_a_lost_state(
    api: ControlPlane, operators: tuple[Operator, Operator, Path]
) -> None:
    one, other, bucket = operators
    site = load_site(one.root, SITE).site
    assert site is not None
    running = one.start("up", SITE)
    lock = half_way(api, bucket)
    since = re.sub("[.][0-9]+", "", lock["timestamp"])
    name = f"{lock['pid']}@{lock['hostname']}@{since}"
    os.kill(lock["pid"], signal.SIGSTOP)
    for command in ("up", "recover"):
        said = other.run(command, SITE, code=2)
        assert f"--take-over {name}" in said and "nothing was changed" in said
    assert len(list(locks(bucket))) == 1, "nobody took it away"

    # The first dies. Its process is gone from this very machine, and nobody concludes anything
    # from that: in a bucket another machine may have the same name.
    kill(running.pid)
    assert name in other.run("recover", SITE, "--plan", code=2)
    said = other.run("recover", SITE, "--take-over", name)
    assert "the lock is released" in said
    other.run("up", SITE)
    expect(api, manifests_of(site))
    assert list(locks(bucket)) == []

    # All stacks are saved, one is lost, and comes back from the copy.
    saved = save(other)
    assert saved.keys() == {SITE}
    before = versions(api)
    (state,) = bucket.glob(f".pulumi/stacks/foresite/{SITE}.json.gz")
    text = gzip.decompress(state.read_bytes()).decode()
    assert all(secret not in text for secret in (SECRET, PASSPHRASE, token(one)))
    # A damaged state is said to be so, and the newest checkpoint of the history is as good.
    *_, newest = sorted(bucket.glob(f".pulumi/history/foresite/{SITE}/*.checkpoint.json.gz"))
    state.write_text("{")
    assert "import a backup: pulumi stack import" in other.run("recover", SITE, code=1)
    shutil.copy(newest, state)
    other.pulumi("preview", "--stack", SITE, "--expect-no-changes")
    state.unlink()
    one.pulumi("stack", "select", "--create", SITE)
    one.pulumi("stack", "import", "--stack", SITE, "--file", str(saved[SITE]))
    one.pulumi("preview", "--stack", SITE, "--expect-no-changes")
    one.run("up", SITE)
    assert versions(api) == before


def locks(bucket: Path) -> Iterator[Path]:
    yield from bucket.glob(f".pulumi/locks/organization/foresite/{SITE}/*.json")


def half_way(api: ControlPlane, bucket: Path) -> Json:
    """The lock of a run that has made an object by now."""
    with api.client() as client:
        until(lambda: client.get("v1", "Namespace", SITE) and [*locks(bucket)], 300, 0.05)
    found: Json = json.loads(next(locks(bucket)).read_text())
    return found


def save(operator: Operator) -> dict[str, Path]:
    """A copy of every stack of the project, by the command of docs/fleet.md itself."""
    if not shutil.which("jq"):
        pytest.skip("jq is not installed")
    page = (ROOT / "docs" / "fleet.md").read_text()
    (command,) = (line[2:] for line in page.splitlines() if line.startswith("$ pulumi stack ls"))
    folder = operator.root.parent / "backup"
    folder.mkdir()
    subprocess.run(["sh", "-c", command], cwd=operator.root, env=operator.env, check=True)
    return {path.stem: path for path in folder.iterdir()}


def token(operator: Operator) -> str:
    """The login in the operator's kubeconfig."""
    users = yaml.safe_load(Path(operator.env["KUBECONFIG"]).read_text())["users"]
    return next(str(each["user"]["token"]) for each in users)


def versions(api: ControlPlane) -> set[tuple[str, str]]:
    """The objects of the site's namespace, in their versions of now."""
    with api.client() as client:
        hosts = client.items("metal3.io/v1alpha1", "BareMetalHost", SITE)
        pools = client.items("cluster.x-k8s.io/v1beta2", "MachineDeployment", SITE)
    found = [each["metadata"] for each in (*hosts, *pools)]
    assert found
    return {(each["name"], each["resourceVersion"]) for each in found}
