"""The embedded control plane: real processes, so what is asserted is what they do."""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from controlplane import ApiError, Binaries, Client, ControlPlane, ControlPlaneError, install_crds
from controlplane.access import (
    Access,
    read_kubeconfig,
    signing_key,
    write_kubeconfig,
    write_private,
)
from controlplane.daemon import Daemon
from controlplane.ports import free_port, is_free
from schemas.kubernetes.objects import load_crds
from tools.toolchain import ToolchainError, locate

needs_servers = pytest.mark.controlplane
HOST = "metal3.io/v1alpha1"


def bare_metal_host(name: str, **spec: object) -> dict[str, object]:
    return {
        "apiVersion": HOST,
        "kind": "BareMetalHost",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"online": True, "bootMACAddress": "02:00:00:00:00:01", **spec},
    }


@pytest.fixture(scope="module")
def binaries() -> Binaries:
    try:
        tools = locate(["controlplane"])
    except ToolchainError as error:
        pytest.fail(str(error), pytrace=False)
    return Binaries(tools["etcd"].path, tools["kube-apiserver"].path)


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is nobody's server."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        yield process
        process.kill()


# What needs no server


def test_private_files_are_private_and_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("old")
    write_private(path, "new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_signing_keys_are_new_each_time_and_well_framed() -> None:
    first, second = signing_key(), signing_key()
    assert first != second
    assert first.startswith("-----BEGIN EC PRIVATE KEY-----\n")
    assert all(len(line) <= 64 for line in first.splitlines())


def test_ports_are_below_what_clients_get_and_kept_where_possible() -> None:
    port = free_port()
    assert 20_000 <= port < 32_768
    assert is_free(port)
    assert free_port(preferred=port) == port


def test_a_taken_port_is_not_taken_again() -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", free_port()))
        taken.listen()
        port = taken.getsockname()[1]
        assert not is_free(port)
        assert free_port(preferred=port) != port


def test_a_kubeconfig_means_the_same_server_in_every_context(tmp_path: Path) -> None:
    access = Access("https://127.0.0.1:20000", "secret", "-----BEGIN CERTIFICATE-----\n")
    path = tmp_path / "kubeconfig"
    write_kubeconfig(path, access, ["trial", "mgmt-east"])
    assert read_kubeconfig(path) == read_kubeconfig(path, "mgmt-east") == access
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(KeyError):
        read_kubeconfig(path, "elsewhere")


def test_a_stale_pid_file_does_not_cost_a_stranger_its_life(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    daemon = Daemon("etcd", tmp_path, f"--data-dir={tmp_path}/etcd")
    daemon.pid_file.write_text(str(sleeper.pid))
    assert daemon.pid() is None
    daemon.stop()
    assert sleeper.poll() is None
    assert not daemon.pid_file.exists()


def test_only_a_control_plane_is_wiped(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("ten years")
    with pytest.raises(ControlPlaneError, match="not a control plane"):
        ControlPlane(tmp_path).wipe()
    assert (tmp_path / "thesis.txt").exists()


def test_a_server_that_ends_at_once_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho no such flag >&2\nexit 1\n")
    broken.chmod(0o755)
    plane = ControlPlane(tmp_path / "trial")
    with pytest.raises(ControlPlaneError, match="no such flag") as caught:
        plane.start(Binaries(broken, broken))
    assert "down --wipe" in str(caught.value)
    assert not plane.status().running


def test_status_of_nothing_says_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "controlplane", "status", "--dir", str(tmp_path / "none")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "does not run" in done.stdout
    assert not (tmp_path / "none").exists()


# What needs the servers


@needs_servers
def test_data_port_and_contexts_survive_a_restart(tmp_path: Path, binaries: Binaries) -> None:
    plane = ControlPlane(tmp_path / "trial")
    try:
        plane.start(binaries)
        plane.kubeconfig(["mgmt-east"])
        before = plane.status()
        with plane.client() as client:
            client.apply(config_map("kept"))
        plane.start(binaries)
        assert plane.status() == before, "a second start of what runs changes nothing"

        plane.stop()
        assert not any(plane.status().pids.values())
        plane.start(binaries)
        after = plane.status()
        assert after.running and after.pids != before.pids
        assert (after.server, after.contexts) == (before.server, ("trial", "mgmt-east"))
        with Client(read_kubeconfig(after.kubeconfig, "mgmt-east")) as client:
            assert client.get("v1", "ConfigMap", "kept", "default") is not None
        plane.wipe()
        assert not plane.directory.exists()
    finally:
        plane.stop()


@needs_servers
def test_it_comes_up_again_after_a_crash(tmp_path: Path, binaries: Binaries) -> None:
    plane = ControlPlane(tmp_path / "trial")
    try:
        plane.start(binaries)
        for pid in plane.status().pids.values():
            assert pid is not None
            os.kill(pid, 9)
        plane.start(binaries)
        assert plane.status().running
    finally:
        plane.stop()


@needs_servers
def test_a_strict_dry_run_refuses_what_the_schema_does_not_have(api: ControlPlane) -> None:
    with api.client() as client:
        good = client.apply(bare_metal_host("dry"), dry_run=True)
        assert good["metadata"]["uid"]
        with pytest.raises(ApiError) as caught:
            client.apply(bare_metal_host("dry", bootMacAdress="02:00:00:00:00:01"), dry_run=True)
        assert "bootMacAdress" in caught.value.message
        with pytest.raises(ApiError) as wrong:
            client.apply(bare_metal_host("dry", online="yes"), dry_run=True)
        assert "spec.online" in str(wrong.value)
        assert client.get(HOST, "BareMetalHost", "dry", "default") is None


@needs_servers
def test_threads_share_a_client(api: ControlPlane) -> None:
    names = [f"host-{number}" for number in range(64)]
    with api.client() as client, ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda name: client.apply(bare_metal_host(name)), names))
        found = {item["metadata"]["name"] for item in client.items(HOST, "BareMetalHost")}
        assert found >= set(names)
        deleted = pool.map(
            lambda name: client.delete(HOST, "BareMetalHost", name, "default"), names
        )
        assert all(deleted)
        assert not client.delete(HOST, "BareMetalHost", names[0], "default")


@needs_servers
def test_crds_are_installed_once(api: ControlPlane) -> None:
    crds = load_crds()
    with api.client() as client:
        assert install_crds(client, crds) == (0, len(crds))


@needs_servers
def test_nobody_else_gets_in(api: ControlPlane) -> None:
    status = api.status()
    access = read_kubeconfig(status.kubeconfig)
    with (
        Client(Access(access.server, "guess", access.authority)) as stranger,
        pytest.raises(ApiError) as caught,
    ):
        stranger.items("v1", "Secret")
    assert caught.value.status == 401
    assert status.directory.stat().st_mode & 0o077 == 0
    readable = [path for path in status.directory.glob("*") if path.name.endswith((".key", ".csv"))]
    assert readable and all(path.stat().st_mode & 0o077 == 0 for path in readable)


def config_map(name: str) -> dict[str, object]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}}
