"""The end of a site on the real engine and the real API server: what goes, in which order, what
stays, and what never happens by itself."""

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.machines.names import CLUSTER_API, CONTROL_PLANE_API, IPAM_API, METAL3_API
from components.making.decommission import MAY_BE_DELETED
from components.making.manifest import Manifest, Target
from components.site import objects_by_name
from controlplane import Client, ControlPlane
from controlplane.errors import ApiError
from foresite.cli import main
from schemas.load import load_site
from tests.kit import waiting
from tests.kit.preview_repository import Repository
from tests.kit.trial_repository import small_sites, use_trial
from tools.toolchain import environment, locate

pytestmark = [pytest.mark.pulumi, pytest.mark.proof]
SITE, OTHER = "dewa-1", "echigo-1"
UP = ("up", "--trial", SITE)
FILE = f"sites/{SITE}.yaml"
HOLD = "cluster.cluster.x-k8s.io"
"""Cluster API's finalizer on a Cluster: it is gone once the last machine is."""
ADMISSION = "admissionregistration.k8s.io/v1"
REASON = "The hall is given back."
Key = tuple[str, str, str, str | None]
CLUSTER: Key = (CLUSTER_API, "Cluster", SITE, SITE)
GOING: tuple[Key, ...] = (
    CLUSTER,
    (CONTROL_PLANE_API, "KubeadmControlPlane", SITE, SITE),
    (IPAM_API, "IPPool", SITE, SITE),
    (ADMISSION, "ValidatingAdmissionPolicy",
     f"foresite-{SITE}-worker-version", None),
)  # fmt: skip


@pytest.fixture
def client(api: ControlPlane) -> Iterator[Client]:
    with api.client() as found:
        yield found


@pytest.fixture
def repository(
    api: ControlPlane, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Repository]:
    """A site whose own cluster is named; here it is the same API server, which others use too."""
    use_trial(monkeypatch, api)
    made = small_sites(tmp_path, {SITE: 1, OTHER: 0})
    kept = made.text(FILE).partition("\naccelerators:\n")[0]
    kept = kept.replace("  endpoint:", f"  context: {SITE}\n  endpoint:", 1)
    made.write(FILE, f"{kept}remediation: {{detector: {{disks: [/]}}}}\n")
    made.commit("the site's own cluster answers")
    site = load_site(tmp_path, SITE).site
    assert site is not None
    its_own = [each for each in objects_by_name(site).values() if each.target is Target.SITE]
    remove(client, its_own)
    yield made
    remove(client, its_own)


def remove(client: Client, objects: list[Manifest]) -> None:
    """Delete what a cluster of other tests may have of the site's, or is left with."""
    for each in objects:
        if each.kind != "Namespace":
            api_version, kind, namespace, name = each.key
            client.delete(api_version, kind, name, namespace or None)


def foresite(repository: Repository, *arguments: str) -> int:
    return main(["--root", str(repository.root), *arguments])


def decommission(repository: Repository) -> None:
    end = f"decommission: {{reason: {REASON}}}\n"
    repository.write(FILE, repository.text(FILE) + end)
    repository.commit("the end")


def pulumi(api: ControlPlane, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Pulumi itself, as a person calls it."""
    env = environment(locate(["pulumi"]), api.directory / "pulumi")
    env |= {"KUBECONFIG": str(api.kubeconfig())}
    command = ["pulumi", *arguments, "--stack", SITE, "--non-interactive"]
    program = api.directory / "program"
    return subprocess.run(
        command, env=env, cwd=program, capture_output=True, text=True, check=False
    )


def state(api: ControlPlane) -> list[dict[str, Any]]:
    """The Kubernetes objects of the stack's state."""
    exported = json.loads(pulumi(api, "stack", "export").stdout)
    resources = exported["deployment"].get("resources", [])
    return [each for each in resources if each["type"].startswith("kubernetes:")]


def hosts(client: Client) -> list[dict[str, Any]]:
    return client.items(METAL3_API, "BareMetalHost", SITE)


until = partial(waiting.until, seconds=400)
"""Three runs of Pulumi on a busy machine."""


def metadata(client: Client, key: Key) -> dict[str, Any]:
    found = client.get(*key)
    assert found is not None, key
    return dict(found["metadata"])


def finalizers(client: Client, names: list[str]) -> None:
    """Do what Cluster API does to a Cluster."""
    path = f"/apis/{CLUSTER_API}/namespaces/{SITE}/clusters/{SITE}"
    body = {"metadata": {"finalizers": names}}
    client.request("PATCH", path, body, "application/merge-patch+json")


@contextmanager
def in_background(run: Callable[[], int]) -> Iterator[list[int]]:
    """A command that waits for the cluster; its code is in the list once it has ended."""
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(run()))
    thread.start()
    try:
        yield codes
    finally:
        thread.join()


def left(api: ControlPlane, client: Client) -> None:
    """Nothing is left of the site but its registered hosts, which may be deleted."""
    resources = state(api)
    assert {each["inputs"]["kind"] for each in resources} == {"Namespace", "BareMetalHost"}
    assert not any(each.get("protect") for each in resources)
    there = [*hosts(client), *filter(None, [client.get("v1", "Namespace", SITE)])]
    assert len(there) == 4
    for each in there:
        assert each["metadata"]["annotations"][MAY_BE_DELETED] == REASON
        assert "deletionTimestamp" not in each["metadata"]


def destroyed(api: ControlPlane, client: Client) -> subprocess.CompletedProcess[str]:
    """The steps of a person at the end. The namespace controller does not run here, so its part is
    done: it takes the finalizer of an empty namespace."""
    done: list[subprocess.CompletedProcess[str]] = []

    def run() -> int:
        done.append(pulumi(api, "destroy", "--yes", "--skip-preview"))
        return done[0].returncode

    namespace = ("v1", "Namespace", SITE, None)
    with in_background(run) as codes:
        until(lambda: codes or "deletionTimestamp" in metadata(client, namespace))
        assert hosts(client) == [], "hosts go before their namespace"
        body = client.get("v1", "Namespace", SITE)
        if body is not None:
            path = f"/api/v1/namespaces/{SITE}/finalize"
            client.request("PUT", path, {**body, "spec": {"finalizers": []}})
    return done[0]


def delete_cluster(client: Client) -> bool:
    """The step of a person who goes around all guards; true if the API server lets it through
    yet."""
    for kind in ("Binding", ""):
        name = f"foresite-{SITE}-site-deletion"
        client.delete(ADMISSION, f"ValidatingAdmissionPolicy{kind}", name)
    try:
        client.delete(CLUSTER_API, "Cluster", SITE, SITE)
    except ApiError:
        return False
    return client.get(*CLUSTER) is None


@pytest.fixture
def refusing(client: Client) -> Iterator[Callable[[], object]]:
    """Call it, and no Cluster can be made in the site's namespace any more."""
    name = "foresite-test-no-cluster"
    rule = {"apiGroups": ["cluster.x-k8s.io"], "apiVersions": ["*"], "resources": ["clusters"]}
    policy = {
        "matchConstraints": {"resourceRules": [{**rule, "operations": ["CREATE"]}]},
        "validations": [{"expression": "false", "message": "no Cluster is made"}],
    }
    where = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": SITE}}}
    binding = {"policyName": name, "validationActions": ["Deny"], "matchResources": where}

    def refuse() -> None:
        for kind, spec in (("", policy), ("Binding", binding)):
            client.apply(
                {
                    "apiVersion": ADMISSION,
                    "kind": f"ValidatingAdmissionPolicy{kind}",
                    "metadata": {"name": name},
                    "spec": spec,
                }
            )
        until(lambda: not may_make())

    def may_make() -> bool:
        body = {
            "apiVersion": CLUSTER_API,
            "kind": "Cluster",
            "metadata": {"name": "another", "namespace": SITE},
            "spec": {"paused": True},
        }
        try:
            client.apply(body, dry_run=True)
        except ApiError as error:
            if "no Cluster is made" not in str(error):
                raise
            return False
        return True

    yield refuse
    for kind in ("Binding", ""):
        client.delete(ADMISSION, f"ValidatingAdmissionPolicy{kind}", name)


def unreachable(api: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on nothing answers where the site's own cluster was."""
    kubeconfig = ControlPlane.kubeconfig

    def other(plane: ControlPlane, *names: Any) -> Path:
        config = yaml.safe_load(kubeconfig(plane, *names).read_text())
        dead = {"name": "dead", "cluster": {"server": "https://127.0.0.1:1"}}
        config["clusters"].append(dead)
        for each in config["contexts"]:
            if each["name"] == SITE:
                each["context"] = {**each["context"], "cluster": "dead"}
        path = plane.directory / "partly-dead.kubeconfig"
        path.write_text(yaml.safe_dump(config))
        return path

    monkeypatch.setattr(ControlPlane, "kubeconfig", other)


def test_a_site_ends_in_two_steps(
    api: ControlPlane,
    client: Client,
    repository: Repository,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert foresite(repository, *UP) == 0
    assert len(hosts(client)) == 3
    own = [each for each in state(api) if f"::{Target.SITE}::" in each["provider"]]
    assert {"Namespace", "DaemonSet"} <= {each["inputs"]["kind"] for each in own}
    decommission(repository)
    unreachable(api, monkeypatch)

    # Step one; unnamed, nothing happens. The Cluster goes first: what it refers to waits for it.
    assert foresite(repository, *UP) == 2
    assert "remove=" in capsys.readouterr().err
    finalizers(client, [HOLD])
    with in_background(lambda: foresite(repository, *UP, "--allow", "remove=50")) as codes:
        try:
            until(lambda: codes or "deletionTimestamp" in metadata(client, CLUSTER))
            assert codes == [], capsys.readouterr()
            for key in GOING[1:]:
                assert "deletionTimestamp" not in metadata(client, key)
        finally:
            finalizers(client, [])
    assert codes == [0], capsys.readouterr()
    assert [client.get(*each) for each in GOING] == [None] * len(GOING)
    left(api, client)
    # What was in the site's own cluster was not asked for: that does not answer.
    for body in (each["inputs"] for each in own):
        named = body["metadata"]
        assert client.get(body["apiVersion"], body["kind"], named["name"], named.get("namespace"))
    # There is nothing more to do, and nothing more to name.
    assert foresite(repository, *UP) == 0
    left(api, client)

    # Step two, to which `foresite apply` and Pulumi do nothing but say so.
    capsys.readouterr()
    for end in (".yaml", ".hosts.csv"):
        (repository.root / f"sites/{SITE}{end}").unlink()
    repository.commit("its file is gone")
    assert foresite(repository, "apply", "--plan", "--trial") == 0
    assert f"not touched: stack {SITE} has no file" in capsys.readouterr().out
    for command in (("preview",), ("up", "--yes", "--skip-preview")):
        done = pulumi(api, *command)
        assert done.returncode != 0
        assert "there is no site" in done.stdout + done.stderr
        left(api, client)

    # A person takes the rest.
    done = destroyed(api, client)
    assert done.returncode == 0, done.stdout + done.stderr
    assert hosts(client) == []
    assert state(api) == []


def test_a_cluster_that_a_person_deleted_is_not_made_anew(
    api: ControlPlane,
    client: Client,
    repository: Repository,
    refusing: Callable[[], object],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """To register it once more would install hosts that were wiped."""
    assert foresite(repository, *UP) == 0
    until(lambda: delete_cluster(client))
    decommission(repository)
    refusing()
    assert foresite(repository, *UP, "--allow", "remove=50") == 0, capsys.readouterr()
    assert [client.get(*each) for each in GOING] == [None] * len(GOING)
    left(api, client)
