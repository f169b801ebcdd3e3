"""A snapshot that is taken as rendered is restored by the commands of docs/etcd-restore.md: with a
real etcd, etcdctl, etcdutl and kube-apiserver."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane import Binaries, Client, ControlPlane
from controlplane.flags import ETCD_CLIENTS, ETCD_PEERS
from tests.components.etcd_snapshots.test_etcd_snapshots import SITE, steps
from tests.kit.repository import ROOT
from tools.toolchain import ToolchainError, Tools, locate

pytestmark = [pytest.mark.controlplane, pytest.mark.proof]
PAGE = (ROOT / "docs" / "etcd-restore.md").read_text("utf-8")
TLS = ("--cacert=", "--cert=", "--key=")
"""Arguments that the trial's etcd has no use for: it listens on a socket of its owner's."""
KEPT = {"a": "ConfigMap", "b": "Secret"}


@pytest.fixture(scope="module")
def tools() -> Tools:
    try:
        return locate(["controlplane", "snapshots"])
    except ToolchainError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory, tools: Tools) -> Iterator[ControlPlane]:
    """An API server with two objects; each test leaves it running."""
    plane = ControlPlane(tmp_path_factory.mktemp("etcd") / "plane")
    plane.start(Binaries(tools["etcd"].path, tools["kube-apiserver"].path))
    try:
        with plane.client() as client:
            for name, kind in KEPT.items():
                create(client, kind, name)
        yield plane
    finally:
        plane.stop()


def create(client: Client, kind: str, name: str) -> None:
    metadata = {"name": name, "namespace": "default"}
    client.apply({"apiVersion": "v1", "kind": kind, "metadata": metadata})


def environment(tools: Tools) -> dict[str, str]:
    folders = [str(tools[each].path.parent) for each in ("etcdctl", "etcdutl")]
    return {**os.environ, "PATH": os.pathsep.join([*folders, os.environ["PATH"]])}


def take(plane: ControlPlane, tools: Tools, step: str) -> subprocess.CompletedProcess[str]:
    """A step of the CronJob, as rendered but for where etcd and the work folder are."""
    if step == "save":  # each pod has an empty folder
        shutil.rmtree(plane.directory / "work", ignore_errors=True)
        (plane.directory / "work").mkdir()
    command = [
        each.replace("$(JOB)", "job-1")
        .replace("/work/", f"{plane.directory}/work/")
        .replace("https://127.0.0.1:2379", f"unix://{ETCD_CLIENTS}")
        for each in steps(SITE)[step]["command"]
        if not each.startswith(TLS)
    ]
    return run(command, plane.directory, tools)


def run(command: list[str], folder: Path, tools: Tools) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env=environment(tools),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def block(name: str) -> list[str]:
    """The commands of the page under a mark, without those that define a function."""
    (text,) = re.findall(rf"<!-- restore: {name} -->\n *```console\n(.*?)```", PAGE, re.DOTALL)
    return [line.strip()[2:] for line in text.splitlines() if re.match(r" *# (?!\w+\(\))", line)]


def restore(folder: Path, tools: Tools, **variables: object) -> None:
    """The page's commands, with values for its variables."""
    (given,) = [re.findall(r"\b([A-Z]+)=", " ".join(block("variables")))]
    assert set(given) == set(variables)
    values = [f"{name}='{value}'" for name, value in variables.items()]
    script = "\n".join(["set -eu", *values, *block("commands")])
    done = run(["bash", "-c", script], folder, tools)
    assert done.returncode == 0, done.stdout + done.stderr


def test_objects_are_back_and_their_revisions_go_on(plane: ControlPlane, tools: Tools) -> None:
    for step in ("save", "check", "restore"):
        done = take(plane, tools, step)
        assert done.returncode == 0, done.stderr
    with plane.client() as client:
        create(client, "ConfigMap", "after")
        newest = client.get("v1", "ConfigMap", "after", "default")
        assert newest
    plane.stop()
    data = plane.directory / "etcd"
    shutil.rmtree(data)
    peer = f"unix://{ETCD_PEERS}"
    restore(
        plane.directory,
        tools,
        SNAPSHOT=plane.directory / "work" / "job-1.db",
        DATA=data,
        MEMBERS=f"trial={peer}",
        NAME="trial",
        PEER=peer,
    )
    assert data.stat().st_mode & 0o777 == 0o700
    plane.start(Binaries(tools["etcd"].path, tools["kube-apiserver"].path))
    with plane.client() as client:
        assert all(client.get("v1", kind, name, "default") for name, kind in KEPT.items())
        assert client.get("v1", "ConfigMap", "after", "default") is None
        create(client, "ConfigMap", "later")
        later = client.get("v1", "ConfigMap", "later", "default")
        assert later
        was, now = (int(each["metadata"]["resourceVersion"]) for each in (newest, later))
        assert now > was


def test_a_damaged_snapshot_is_never_uploaded(plane: ControlPlane, tools: Tools) -> None:
    assert take(plane, tools, "save").returncode == 0
    file = plane.directory / "work" / "job-1.db"
    content = bytearray(file.read_bytes())
    content[-100] ^= 1  # in the last page, before the hash
    file.write_bytes(content)
    done = take(plane, tools, "restore")
    assert done.returncode != 0 and "expected sha256" in done.stderr


def test_three_members_start_from_one_snapshot(plane: ControlPlane, tools: Tools) -> None:
    assert take(plane, tools, "save").returncode == 0
    folder, names = plane.directory, ("m0", "m1", "m2")
    peers = {name: f"unix://{name}:2380" for name in names}
    members = ",".join(f"{name}={url}" for name, url in peers.items())
    for name, url in peers.items():
        snapshot, data = folder / "work" / "job-1.db", folder / name
        data.mkdir()  # what is there is moved away, not overwritten
        found = {"SNAPSHOT": snapshot, "DATA": data, "MEMBERS": members, "NAME": name, "PEER": url}
        restore(folder, tools, **found)
        assert (folder / f"{name}.before-restore").is_dir()
    started = [subprocess.Popen(member(tools, name, members), cwd=folder) for name in names]
    try:
        health, hashes = block("comparison")
        wait = "until etcdctl endpoint health >/dev/null 2>&1; do sleep 0.2; done"
        own = "export ETCDCTL_ENDPOINTS=unix://m0:2379"
        done = run(["bash", "-c", f"set -eu; {own}\n{wait}\n{health}\n{hashes}"], folder, tools)
        assert done.returncode == 0, done.stdout + done.stderr
        seen = re.findall(r"m\d:2379 \| +(\d+) \|", done.stdout)
        assert len(seen) == 3 and len(set(seen)) == 1, done.stdout
    finally:
        for process in started:
            process.kill()
            process.wait()


def member(tools: Tools, name: str, members: str) -> list[str | Path]:
    """etcd as kubeadm starts it on a host that joined: the last two arguments are those of then."""
    return [
        tools["etcd"].path,
        f"--name={name}",
        f"--data-dir={name}",
        *(f"--{each}-client-urls=unix://{name}:2379" for each in ("listen", "advertise")),
        f"--listen-peer-urls=unix://{name}:2380",
        f"--initial-advertise-peer-urls=unix://{name}:2380",
        "--log-level=error",
        f"--initial-cluster={members.split(',', 1)[0]}",
        "--initial-cluster-state=existing",
    ]
