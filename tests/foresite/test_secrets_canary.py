"""No secret passes through Foresite: canaries stand wherever a user could put a secret, and are
looked for in all that real runs leave behind.

One run of everything, on the real engine and the real API server; then one look at it all.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from controlplane import ControlPlane
from tests.kit.preview_repository import Repository
from tests.kit.repository import ROOT
from tests.kit.secrets_canary import canary, forms, found_in, leaks
from tests.kit.trial_repository import small_sites
from tools.toolchain import locate
from tools.toolchain.environment import pulumi_home

SITE = "canary-1"
CONFIG = "foresite:kubeconfig"
FILE = f"sites/{SITE}.yaml"
NETWORK = "sites/pod-network/flannel.yaml"
HOSTS = f"sites/{SITE}.hosts.csv"
SECTION = "secrets: {management: {name: vault}, site: {name: vault}}\n"


@dataclass
class World:
    """A repository and all that a user has around it; ``said`` is what every command printed."""

    repository: Repository
    folder: Path
    env: dict[str, str]
    token: str
    canaries: dict[str, str] = field(default_factory=dict)
    said: list[tuple[str, bytes]] = field(default_factory=list)

    def put(self, name: str, before: str = "canary", after: str = "") -> str:
        """A new canary, by the name of the place that it is put in."""
        self.canaries[name] = canary(before, after)
        return self.canaries[name]

    def run(self, *command: str, code: int | None = 0, **env: str) -> str:
        """Run a command in the repository; what it said is kept for the search."""
        done = subprocess.run(
            command,
            cwd=self.repository.root,
            env=self.env | env,
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        text = (done.stdout + done.stderr).decode("utf-8", "replace")
        assert code in (None, done.returncode), f"{command}: {done.returncode}\n{text[-3000:]}"
        # What was typed is no news to whoever typed it, but is to those who read a log.
        self.said.append((" ".join(command[:6]), done.stdout + done.stderr))
        return text

    def foresite(self, *arguments: str, code: int | None = 0, **env: str) -> str:
        return self.run(sys.executable, "-m", "foresite", *arguments, code=code, **env)

    def pulumi(self, *arguments: str, code: int | None = 0, **env: str) -> str:
        """The official CLI itself: its provider leaves a copy of the kubeconfig among temporary
        files (foresite/scratch.py), which only Foresite's own runs clear away."""
        env = {"TMPDIR": str(self.place("not-searched"))} | env
        return self.run("pulumi", *arguments, "--non-interactive", code=code, **env)

    def place(self, name: str) -> Path:
        """A folder that is searched at the end."""
        found = self.folder / name
        found.mkdir(parents=True, exist_ok=True)
        return found


@pytest.fixture(scope="module")
def world(api: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("canary")
    repository = small_sites(folder / "repository", {SITE: 0})
    for name in ("policies", "foresite", "preview", "tools", "controlplane"):
        if not (repository.root / name).exists():
            (repository.root / name).symlink_to(ROOT / name)
    repository.write(".gitignore", ".venv\n__pycache__\npolicies\nforesite\npreview\ntools\n"
                     "controlplane\nPulumi.*.yaml\n")  # fmt: skip
    repository.write(FILE, repository.text(FILE) + SECTION)
    context = yaml.safe_load(repository.text(FILE))["management"]
    kubeconfig = yaml.safe_load(api.kubeconfig([context]).read_text())
    token = next(each["user"]["token"] for each in kubeconfig["users"])
    made = World(repository, folder, {}, token)
    made.canaries["token of the API server, in the kubeconfig"] = token
    spare = {"token": made.put("another user's token"), "password": made.put("a user's password")}
    kubeconfig["users"].append({"name": "spare", "user": spare})
    (folder / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
    made.env = environment(made)
    remote = made.put("the remote of Git")
    repository.git("remote", "add", "origin", f"https://git:{remote}@git.example/ops/sites.git")
    repository.commit("with Secrets by reference")
    return made


def environment(world: World) -> dict[str, str]:
    """A user's own surroundings: the official CLI on PATH, a home with its logs, a file backend."""
    tools = locate(["pulumi"])
    home = world.place("home")
    shutil.copytree(pulumi_home(tools), home, dirs_exist_ok=True, copy_function=os.link)
    (home / "logs").unlink()  # the trial has a file there, so that nothing is logged
    kept = {name: os.environ[name] for name in ("LANG", "LC_ALL") if name in os.environ}
    return kept | {
        "PATH": os.pathsep.join([str(home / "bin"), str(Path(sys.executable).parent),
                                 os.environ["PATH"]]),
        "HOME": str(world.place("user")),
        "TMPDIR": str(world.place("temporary")),
        "FORESITE_CACHE": str(world.place("cache")),
        "PULUMI_HOME": str(home),
        "PULUMI_BACKEND_URL": f"file://{world.place('state')}",
        "PULUMI_CONFIG_PASSPHRASE": world.put("the passphrase", "pass/word+", "&%"),
        "PULUMI_ACCESS_TOKEN": world.put("Pulumi's access token", "pul-"),
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_IGNORE_AMBIENT_PLUGINS": "true",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DEBUG_COMMANDS": "true",
        "PULUMI_EXPERIMENTAL": "true",
        "GITHUB_TOKEN": world.put("GitHub's token"),
        "AWS_SECRET_ACCESS_KEY": world.put("a key of a cloud"),
        "KUBECONFIG": str(world.folder / "kubeconfig"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip


@pytest.mark.proof
@pytest.mark.pulumi
def test_no_canary_is_found_in_what_runs_leave(world: World, api: ControlPlane) -> None:
    secrets_in_the_cluster(world, api)
    refused_files(world)
    offline(world)
    applied(world)
    failing(world)
    configured(world)
    number, found = leaks(
        [world.folder / each for each in ("home", "user", "temporary", "cache", "state", "out")],
        world.canaries,
    )
    found += [f"output of {name}: {leak}" for name, data in world.said
              for leak in found_in(data, world.canaries)]  # fmt: skip
    assert not found, "\n".join(found)
    assert number > 30  # states, logs, reports, notes: there was something to look at


# --- what is run ----------------------------------------------------------------------------------


def secrets_in_the_cluster(world: World, api: ControlPlane) -> None:
    """The Secrets that the site refers to are there, as External Secrets would have made them."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SITE}}
    (host,) = [line.split(",")[0] for line in world.repository.text(HOSTS).splitlines()[1:2]]
    with api.client() as client:
        client.apply(namespace)
        client.apply({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": f"{host}-bmc", "namespace": SITE},
            "stringData": {"username": "root", "password": world.put("the BMC's password")},
        })  # fmt: skip


def refused_files(world: World) -> None:
    """A secret in each kind of place of the files: refused everywhere, and shown nowhere."""
    variable = "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: bgp, namespace: bgp}\n"
    hook = "https://hooks.slack.com/services/"
    serial = world.repository.text(HOSTS).splitlines()[1].rpartition(",")[2]
    edits = (
        ("a receiver's key", FILE, "key: url", 'key: "CANARY"', hook),
        ("a comment", FILE, "\npools:", "\n# CANARY\npools:", "ghp_"),
        ("a URL", FILE, "http://images", "http://robot:CANARY@images", "canary"),
        ("an unknown field", FILE, "\nsources:", "\npassword: CANARY\nsources:", "canary"),
        ("an argument", FILE, "    reloads_config: true",
         "    reloads_config: true\n    args: [--token, CANARY]", "canary"),
        ("a host's serial", HOSTS, serial, "CANARY", "ghp_"),
        ("manifests", NETWORK, "", variable + "data:\n  password: CANARY\n", "canary"),
        ("a Secret in manifests", NETWORK, "", variable.replace("ConfigMap", "Secret")
         + "stringData: {any: CANARY}\n", "canary"),
    )  # fmt: skip
    before = {file: world.repository.text(file) for file in (FILE, HOSTS, NETWORK)}
    for name, file, old, new, form in edits:
        text, put = world.repository.text(file), new.replace("CANARY", world.put(name, form))
        world.repository.write(file, text.replace(old, put, 1) if old else text + put)
    assert world.foresite("check", code=1).count(": secret-in-file") >= len(edits)
    world.foresite("check", "--format", "json", code=1)
    for form in ("markdown", "html"):
        world.foresite("preview", "--base", "HEAD", "--format", form, code=None)
    for file, text in before.items():
        world.repository.write(file, text)


def offline(world: World) -> None:
    """Commands that need no cluster, with secrets among the arguments; the change is a harmless
    one."""
    world.foresite("check", f"--password={world.put('an option')}", code=2)
    world.foresite("check", world.put("a site's name", "ghp_"), code=1)
    world.foresite("explain", SITE, world.put("a path", "glpat-"), code=2)
    world.foresite("preview", "--base", world.put("a revision", "ghp_"), code=2)
    out = world.place("out")
    world.foresite("render", SITE, "--out", str(out / "rendered"))
    world.foresite("explain", SITE, "secrets.management.name")
    world.repository.replace(FILE, "name: vault}, site", "name: vault-2}, site")
    for form in ("text", "markdown", "json", "html"):
        world.foresite("preview", "--base", "HEAD", "--format", form, "--out", str(out / form))
    world.repository.commit("another store")


def applied(world: World) -> None:
    """Runs that pass, the engine's own debug output among them."""
    out = world.place("out")
    world.foresite("up", SITE)
    world.repository.replace(FILE, "name: vault-2}", "name: vault-3}")
    world.repository.commit("a third store")
    world.foresite("opinion", "--base", "HEAD~1", "--out", str(out / "opinion.md"), code=None)
    world.foresite("apply", code=None)
    world.foresite("drift", code=None)
    world.pulumi("preview", "--stack", SITE, "--diff", "--save-plan", str(out / "plan.json"))
    loud = ("-v=9", "--logtostderr", "--event-log", str(out / "events.json"))
    said = world.pulumi("up", "--stack", SITE, "--yes", "--skip-preview", *loud)
    assert "RegisterResource" in said and (out / "events.json").stat().st_size > 0


def failing(world: World) -> None:
    """Runs that the API server refuses, or that end in an exception."""
    kubeconfig = yaml.safe_load((world.folder / "kubeconfig").read_text())
    for each in kubeconfig["users"]:
        each["user"] = {"token": world.put(f"a token that is refused ({each['name']})")}
    denied = world.folder / "denied"
    denied.write_text(yaml.safe_dump(kubeconfig))
    world.foresite("up", SITE, code=2, KUBECONFIG=str(denied))
    world.repository.replace(FILE, "name: vault-3}", "name: vault-4}")
    world.pulumi(
        "up", "--stack", SITE, "--yes", "--skip-preview", code=None, KUBECONFIG=str(denied)
    )


def configured(world: World) -> None:
    """The kubeconfig in Pulumi's configuration: in plain text, of another cluster, and as it should
    be. Not with -v=9, with which Pulumi 3.255 writes out secrets (docs/secrets.md)."""
    out = world.place("out")
    nowhere = str(world.folder / "nowhere")
    kubeconfig = (world.folder / "kubeconfig").read_text()
    other = yaml.safe_load(kubeconfig) | {"contexts": []}
    plain = world.put("a kubeconfig in plain text")
    del world.canaries["a kubeconfig in plain text"]  # Pulumi's own files hold what it was told
    setting = ("config", "set", "--stack", SITE, CONFIG)
    world.pulumi(*setting, "--plaintext", plain)
    said = world.pulumi("preview", "--stack", SITE, code=None, KUBECONFIG=nowhere)
    assert "plain text" in said and "--secret" in said
    assert found_in(said.encode(), {"plain": plain}) == []
    world.pulumi(*setting, "--secret", yaml.safe_dump(other))
    said = world.pulumi("preview", "--stack", SITE, code=None, KUBECONFIG=nowhere)
    assert "has no context" in said
    world.pulumi(*setting, "--secret", kubeconfig)
    loud = ("-v=8", "--logtostderr", "--event-log", str(out / "events-configured.json"))
    world.pulumi("up", "--stack", SITE, "--yes", "--skip-preview", *loud, KUBECONFIG=nowhere)
    (out / "exported.json").write_text(world.pulumi("stack", "export", "--stack", SITE))
    assert "ciphertext" in (out / "exported.json").read_text()
    shutil.copy(world.repository.root / f"Pulumi.{SITE}.yaml", out)


# --- the search itself ----------------------------------------------------------------------------


@pytest.mark.parametrize("around", ["", "x", "xy", "a longer text before "])
@pytest.mark.parametrize("how", forms("any"))
def test_a_canary_is_found_however_it_is_written(how: str, around: str) -> None:
    import base64
    from urllib.parse import quote

    value = canary("pass/word+", "&%")
    text = f"{around}{value}{around}"
    written = {
        "plain": text.encode(),
        "URL": quote(text, safe="").encode(),
        "base64": base64.b64encode(text.encode()),
        "base64url": base64.urlsafe_b64encode(text.encode()),
    }[how.partition(" ")[0]]
    assert found_in(written, {"it": value}) != []
    assert found_in(written, {"another": canary()}) == []
