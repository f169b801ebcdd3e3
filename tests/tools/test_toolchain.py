"""The toolchain's decisions, with made-up tools on PATH; nothing here builds anything real."""

import dataclasses
import errno
import hashlib
import lzma
import os
import re
import shutil
import signal
import sys
import time
from collections import namedtuple
from importlib.metadata import version as package_version
from io import StringIO
from pathlib import Path

import pytest

from tests.kit.toolchain_machine import GOOD_GO, Machine, script
from tools.toolchain import (
    Console,
    Fits,
    Origin,
    Tool,
    ToolchainError,
    Version,
    cache_directory,
    environment,
    parts,
    provide,
)
from tools.toolchain import console as console_module
from tools.toolchain.build import check_space
from tools.toolchain.cache import filling, platform_tag, writing
from tools.toolchain.installed import Given, executables_of, find_installed, obtain, stand_ins
from tools.toolchain.pairs import mismatch
from tools.toolchain.parts import TOOLS, cache_key, sources


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


# The table


@pytest.mark.parametrize(
    ("part", "module"),
    [
        ("etcd", "go.etcd.io/etcd/server/v3"),
        ("kube-apiserver", "k8s.io/kubernetes"),
        ("kubectl", "k8s.io/kubernetes"),
        ("pulumi", "github.com/pulumi/pulumi/pkg/v3"),
        ("pulumi-language-python", "github.com/pulumi/pulumi/sdk/v3"),
        ("capi-core", "sigs.k8s.io/cluster-api"),
        ("capi-kubeadm-control-plane", "sigs.k8s.io/cluster-api"),
        ("capi-kubeadm-bootstrap", "sigs.k8s.io/cluster-api"),
        ("kube-scheduler", "k8s.io/kubernetes"),
        ("kube-controller-manager", "k8s.io/kubernetes"),
        ("kubelet", "k8s.io/kubernetes"),
        ("kube-apiserver-1.37", "k8s.io/kubernetes"),
        ("kwok", "sigs.k8s.io/kwok"),
        ("etcdctl", "go.etcd.io/etcd/etcdctl/v3"),
        ("etcdutl", "go.etcd.io/etcd/etcdutl/v3"),
        ("clusterctl", "sigs.k8s.io/cluster-api"),
        ("capi-operator", "sigs.k8s.io/cluster-api-operator"),
        ("kustomize-controller", "github.com/fluxcd/kustomize-controller"),
        ("source-controller", "github.com/fluxcd/source-controller"),
        ("capm3", "github.com/metal3-io/cluster-api-provider-metal3"),
        ("metal3-ipam", "github.com/metal3-io/ip-address-manager"),
        ("kustomize", "sigs.k8s.io/kustomize/kustomize/v5"),
        ("helm", "helm.sh/helm/v4"),
        ("jsonnet", "github.com/google/go-jsonnet"),
        ("cue", "cuelang.org/go"),
    ],
)
def test_the_table_and_the_go_modules_name_the_same_versions(part: str, module: str) -> None:
    row = parts()[part]
    text = (TOOLS / row.module_dir / "go.mod").read_text()
    pinned = re.search(rf"^\s*(?:require )?{re.escape(module)} (v\S+)", text, re.MULTILINE)
    assert pinned and Version.parse(pinned[1]) == row.version


def test_the_table_and_the_python_packages_go_together() -> None:
    table = parts()
    assert str(table["pulumi"].version) == package_version("pulumi")
    assert table["pulumi-language-python"].installed == table["pulumi"].version
    assert str(table["pulumi-resource-kubernetes"].version) == package_version("pulumi-kubernetes")


def test_every_module_is_pinned_in_full() -> None:
    for part in parts().values():
        for module_dir in (part.module_dir, *(copy.module_dir for copy in part.copies)):
            assert {"go.mod", "go.sum"} <= {path.name for path in sources(module_dir)}


# Versions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v3.255.0\n", (3, 255, 0)),
        ("Kubernetes v1.34.3", (1, 34, 3)),
        ("Client Version: v1.32.4-dispatcher\nKustomize Version: v5.5.0", (1, 32, 4)),
        ("etcd Version: 3.6.6\nGit SHA: Not provided", (3, 6, 6)),
        ("Kubernetes v1.34.3-gke.1200", (1, 34, 3)),
        ("listens on 10.0.0.1.5 since 2026", None),
        ("", None),
    ],
)
def test_a_version_is_found_in_what_tools_print(
    text: str, expected: tuple[int, int, int] | None
) -> None:
    assert Version.find(text) == expected


@pytest.mark.parametrize(
    ("fits", "found", "wanted", "accepted"),
    [
        (Fits.MINOR, "1.34.9", "1.34.3", True),
        (Fits.MINOR, "1.35.0", "1.34.3", False),
        (Fits.MINOR, "2.34.3", "1.34.3", False),
        (Fits.NEWER, "3.255.7", "3.255.0", True),
        (Fits.NEWER, "3.300.0", "3.255.0", True),
        (Fits.NEWER, "3.254.9", "3.255.0", False),
        (Fits.NEWER, "4.0.0", "3.255.0", False),
        (Fits.EXACT, "4.25.0", "4.25.0", True),
        (Fits.EXACT, "4.25.1", "4.25.0", False),
    ],
)
def test_which_versions_fit(fits: Fits, found: str, wanted: str, accepted: bool) -> None:
    assert fits.accepts(Version.parse(found), Version.parse(wanted)) is accepted


def test_a_mismatch_names_both_versions_and_the_way_out() -> None:
    with pytest.raises(ToolchainError) as caught:
        mismatch("pulumi-resource-kubernetes", Version(4, 1, 0), "pulumi-kubernetes", Fits.EXACT)
    text = str(caught.value)
    assert "4.1.0" in text and package_version("pulumi-kubernetes") in text
    assert "uv sync --locked" in text and "versions.toml" in text


# What is installed


def test_a_fitting_installed_tool_is_used_and_others_are_passed_over(machine: Machine) -> None:
    etcd = parts()["etcd"]
    machine.put("etcd", "echo etcd Version: 3.5.21")
    assert find_installed(etcd, machine.env) is None
    fitting = script(machine.bin.parent / "opt" / "etcd", "echo etcd Version: 3.6.99")
    env = {**machine.env, "PATH": f"{machine.bin}{os.pathsep}{fitting.parent}"}
    assert find_installed(etcd, env) == Tool("etcd", Version(3, 6, 99), fitting, Origin.INSTALLED)


@pytest.mark.parametrize("body", ["exit 1", "echo 3.6.6; exit 1", "echo hello", "kill -9 $$"])
def test_a_tool_that_does_not_tell_its_version_is_not_used(machine: Machine, body: str) -> None:
    machine.put("etcd", body)
    assert find_installed(parts()["etcd"], machine.env) is None


def test_an_installed_provider_is_found_once_it_is_there_in_full(machine: Machine) -> None:
    part = parts()["pulumi-resource-kubernetes"]
    home = machine.bin.parent / "pulumi-home"
    env = {**machine.env, "PULUMI_HOME": str(home)}
    folder = home / "plugins" / f"resource-kubernetes-v{part.version}"
    path = script(folder / part.name, "")
    found = find_installed(part, env)
    assert found and (found.path, found.version) == (path, part.version)
    folder.with_name(f"{folder.name}.partial").touch()
    assert find_installed(part, env) is None


def test_a_language_host_is_used_with_its_script_only(machine: Machine) -> None:
    part = parts()["pulumi-language-python"]
    host = machine.put(part.name, "echo 3.255.0")
    assert find_installed(part, machine.env) is None
    machine.put(f"{part.name}-exec", "")
    found = find_installed(part, machine.env)
    assert found and found.path == host


def test_the_language_host_beside_the_cli_comes_first(machine: Machine) -> None:
    part = parts()["pulumi-language-python"]
    release = machine.bin.parent / "release"
    for folder in (machine.bin, release):
        script(folder / part.name, "echo 3.255.0")
        script(folder / f"{part.name}-exec", "")
    found = find_installed(part, machine.env, beside=release / "pulumi")
    assert found and found.path.parent == release


# The cache


def test_the_cache_key_changes_with_the_pins(tmp_path: Path) -> None:
    part = parts()["etcd"]
    shutil.copytree(TOOLS / part.module_dir, tmp_path / part.module_dir)
    before = cache_key(part, "linux-x86_64", tmp_path)
    assert before == cache_key(part, "linux-x86_64", TOOLS)
    assert before.startswith(f"etcd-{part.version}-linux-x86_64-")
    keys = {before, cache_key(part, "darwin-arm64", tmp_path)}
    for name in ("go.mod", "go.sum", "main.go"):
        with (tmp_path / part.module_dir / name).open("a") as file:
            file.write("// changed\n")
        keys.add(cache_key(part, "linux-x86_64", tmp_path))
    assert len(keys) == 5


def test_where_the_cache_is() -> None:
    assert cache_directory({"FORESITE_CACHE": "/a", "XDG_CACHE_HOME": "/b"}) == Path("/a")
    assert cache_directory({"XDG_CACHE_HOME": "/b"}) == Path("/b/foresite")
    assert cache_directory({}) == Path.home() / ".cache" / "foresite"


def test_a_folder_is_filled_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "parts" / "etcd"
    (tmp_path / "parts" / ".etcd.killed").mkdir(parents=True)
    with pytest.raises(FileNotFoundError), filling(target) as folder:
        shutil.copyfile(tmp_path / "absent", folder / "half")
    assert list(target.parent.iterdir()) == []
    with filling(target) as folder:
        (folder / "whole").touch()
    assert [path.name for path in target.iterdir()] == ["whole"]


@pytest.mark.parametrize(
    ("number", "word"), [(errno.ENOSPC, "full"), (errno.EROFS, "cannot write")]
)
def test_a_disk_that_takes_nothing_more_is_an_error_with_a_way_out(number: int, word: str) -> None:
    with pytest.raises(ToolchainError, match=word) as caught, writing(Path("/cache")):
        raise OSError(number, os.strerror(number))
    assert "FORESITE_CACHE" in caught.value.fix


def test_a_build_does_not_start_on_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**12, 10**12, 10**8))
    with pytest.raises(ToolchainError, match="too little to build in"):
        check_space(tmp_path)


# Building, with a go that is made up


def test_a_build_is_kept_and_done_once(machine: Machine) -> None:
    machine.put("go", GOOD_GO)
    code, text = machine.run("ensure", "controlplane")
    assert code == 0, text
    assert "etcd 3.6.6: building (1 of 3), about 1 min" in text
    assert machine.builds() == 3
    assert [name.split("-linux")[0].split("-darwin")[0] for name in machine.kept()] == [
        "etcd-3.6.6",
        "kube-apiserver-1.34.3",
        "kubectl-1.34.3",
    ]
    code, text = machine.run("ensure", "controlplane")
    assert code == 0 and "building" not in text and machine.builds() == 3
    code, text = machine.run("where", "controlplane")
    assert code == 0 and [row.split("\t")[0] for row in text.splitlines()] == [
        "etcd",
        "kube-apiserver",
        "kubectl",
    ]


def test_two_processes_do_not_build_the_same(machine: Machine) -> None:
    machine.put("go", GOOD_GO)
    machine.env["SLOW"] = "0.5"
    both = [machine.start("ensure", "controlplane") for _ in range(2)]
    texts = [process.communicate(timeout=60)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sum(text.count("another process is building it") for text in texts) >= 1
    assert machine.builds() == 3


def test_an_interrupted_build_leaves_nothing(machine: Machine) -> None:
    machine.put("go", GOOD_GO)
    machine.env["SLOW"] = "30"
    with machine.start("ensure", "controlplane") as process:
        deadline = time.monotonic() + 20
        while not machine.builds() and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        _, text = process.communicate(timeout=10)
    assert process.returncode == 130 and "Traceback" not in text
    assert machine.kept() == []


@pytest.mark.parametrize(
    ("output", "way_out"),
    [
        ("dial tcp: lookup modules.example: no such host", "GOPROXY"),
        ("write /tmp/x: no space left on device", "GOCACHE"),
        ("verifying m@v1: checksum mismatch", "go clean -modcache"),
        ("./main.go:3:1: syntax error", "go build"),
    ],
)
def test_a_failing_build_shows_its_last_words_and_a_way_out(
    machine: Machine, output: str, way_out: str
) -> None:
    failing = f"[ $1 = env ] && echo go1.26.0 && exit 0\necho '{output}' >&2; exit 1"
    machine.put("go", failing)
    code, text = machine.run("ensure", "controlplane")
    assert code == 2
    assert "etcd 3.6.6 failed" in text and output in text
    assert way_out in text.split("what to do:")[1]
    assert machine.kept() == []


def test_a_module_that_cannot_be_copied_from_is_an_error(machine: Machine) -> None:
    machine.put("go", GOOD_GO)
    code, text = machine.run("ensure", "pulumi")
    assert code == 2 and "github.com/pulumi/pulumi/sdk/v3" in text


def test_no_go_is_an_error_with_a_way_out(machine: Machine) -> None:
    code, text = machine.run("ensure", "controlplane")
    assert code == 2
    assert "Go is not installed" in text and "https://go.dev/dl/" in text


@pytest.mark.parametrize(
    "body",
    [
        "echo go1.25.4",
        "echo 'go: go.mod requires go >= 1.26 (running go 1.24.0; GOTOOLCHAIN=local)' >&2; exit 1",
    ],
)
def test_an_old_go_is_an_error_with_a_way_out(machine: Machine, body: str) -> None:
    machine.put("go", body)
    code, text = machine.run("ensure", "controlplane")
    assert code == 2
    assert "install Go 1.26" in text and "GOTOOLCHAIN" in text


def test_a_cache_that_is_a_file_is_an_error_with_a_way_out(machine: Machine) -> None:
    machine.put("go", GOOD_GO)
    machine.cache.write_text("")
    code, text = machine.run("ensure", "controlplane")
    assert code == 2 and "FORESITE_CACHE" in text


def test_what_is_missing_is_named_with_the_command_that_brings_it(machine: Machine) -> None:
    code, text = machine.run("where", "controlplane")
    assert code == 2
    assert "kubectl 1.34.3" in text and "python -m tools.toolchain ensure controlplane" in text


# Progress


def test_a_log_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = StringIO()
    console = Console(stream)
    console.tick("etcd: 1 s")
    assert stream.getvalue() == ""
    monkeypatch.setattr(console_module, "HEARTBEAT_SECONDS", 0.0)
    console.tick("etcd: 20 s")
    assert stream.getvalue() == "etcd: 20 s\n"


def test_a_terminal_gets_one_line_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    console = Console(stream)
    console.tick("etcd: 10 s")
    console.say("built")
    assert stream.getvalue() == "etcd: 10 s\r          \rbuilt\n"


# Executables that are given


GIVEN_TEXT = b"#!/bin/sh\n" * 1000
GIVEN = Given(
    "given-tool",
    Version(1, 2, 3),
    "given",
    hashlib.sha256(GIVEN_TEXT).hexdigest(),
    platform_tag(),
    "https://example.com/given-tool",
    "0123abc",
)


@pytest.fixture
def upstream(machine: Machine) -> Path:
    """The folder that given executables are taken from."""
    folder = machine.bin.parent / "upstream" / "bin"
    folder.mkdir(parents=True)
    machine.env["FORESITE_UPSTREAM"] = str(folder.parent)
    return folder


@pytest.mark.parametrize(
    ("file", "content"), [("given-tool", GIVEN_TEXT), ("given-tool.xz", lzma.compress(GIVEN_TEXT))]
)
def test_what_is_given_is_kept(machine: Machine, upstream: Path, file: str, content: bytes) -> None:
    (upstream / file).write_bytes(content)
    tool = obtain(GIVEN, machine.env)
    assert tool and tool.path.read_bytes() == GIVEN_TEXT and os.access(tool.path, os.X_OK)
    (upstream / file).unlink()
    assert obtain(GIVEN, machine.env) == tool, "a later checkout has it without its source"


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("given-tool", b"another", "is not the pinned given-tool 1.2.3"),
        ("given-tool.xz", lzma.compress(GIVEN_TEXT)[:-20], "cannot be unpacked"),
        ("given-tool.xz", b"no xz", "cannot be unpacked"),
    ],
)
def test_what_is_not_the_pinned_file_is_refused(
    machine: Machine, upstream: Path, file: str, content: bytes, words: str
) -> None:
    (upstream / file).write_bytes(content)
    with pytest.raises(ToolchainError, match=words) as caught:
        obtain(GIVEN, machine.env)
    assert GIVEN.source in caught.value.fix and machine.kept() == []


def test_what_is_given_for_another_platform_is_not_taken(machine: Machine, upstream: Path) -> None:
    (upstream / "given-tool").write_bytes(GIVEN_TEXT)
    assert obtain(dataclasses.replace(GIVEN, platform="plan9-mips"), machine.env) is None


def test_what_is_not_at_hand_is_told_and_fails_only_who_needs_it(
    machine: Machine, upstream: Path
) -> None:
    code, text = machine.run("ensure", "given")
    assert code == 0
    for each in executables_of(["given"]):
        assert f"{each.name} {each.version}: not at hand; build it from {each.source}" in text
    code, text = machine.run("where", "given")
    assert code == 2 and "FORESITE_UPSTREAM" in text and "kube-scheduler-gang" in text


# An executable that stands in for a part


HOST_GO = """
case "$1" in
  env) echo go1.26.0 ;;
  mod) echo "{\\"Dir\\": \\"$(dirname "$0")/module\\"}" ;;
  build)
    echo "$*" >> "$(dirname "$0")/builds"
    while [ "$1" != -o ]; do shift; done
    printf '#!/bin/sh\\n# %s\\necho 3.255.0\\n' "$2" > "$2"; chmod +x "$2" ;;
esac
"""
"""A go that finds every file of a module in one folder, and builds what says it is 3.255.0."""


@pytest.fixture
def stand_in(machine: Machine, upstream: Path, monkeypatch: pytest.MonkeyPatch) -> Given:
    """The stand-in for the language host, made up and with its digest in the table; a machine with
    the rest that the group needs."""
    wanted = dataclasses.replace(
        stand_ins()["pulumi-language-python"], sha256=GIVEN.sha256, platform=platform_tag()
    )
    monkeypatch.setattr(provide, "stand_ins", lambda: {wanted.name: wanted})
    for name, value in machine.env.items():
        monkeypatch.setenv(name, value)
    machine.put("go", HOST_GO)
    for file in ("pulumi-language-python-exec", "schema.json", "terraform-mapping.json"):
        for folder in ("python/cmd", "cmd/pulumi-resource-kubernetes"):
            script(machine.bin / "module" / folder / file, "echo 3.255.0")
    return wanted


def test_what_stands_in_for_a_part_is_taken_where_it_is_at_hand(
    machine: Machine, upstream: Path, stand_in: Given
) -> None:
    built = provide.ensure(["pulumi"], Console(StringIO()))["pulumi-language-python"]
    assert (built.origin, built.version) == (Origin.BUILT, Version(3, 79, 0))
    builds = machine.builds()
    (upstream / stand_in.name).write_bytes(GIVEN_TEXT)
    with pytest.raises(ToolchainError, match="not built yet: pulumi-language-python"):
        provide.locate(["pulumi"])
    taken = provide.ensure(["pulumi"], Console(StringIO()))["pulumi-language-python"]
    assert (taken.origin, taken.version) == (Origin.GIVEN, stand_in.version)
    assert taken.path.read_bytes() == GIVEN_TEXT and machine.builds() == builds
    assert taken.path.with_name("pulumi-language-python-exec").is_file()
    assert provide.locate(["pulumi"])["pulumi-language-python"] == taken
    (upstream / stand_in.name).unlink()
    assert provide.locate(["pulumi"])["pulumi-language-python"] == taken, "the cache has it"


def test_what_is_installed_goes_before_what_stands_in(
    machine: Machine, upstream: Path, stand_in: Given
) -> None:
    (upstream / stand_in.name).write_bytes(GIVEN_TEXT)
    for name in (stand_in.name, f"{stand_in.name}-exec"):
        machine.put(name, "echo 3.255.0")
    found = provide.ensure(["pulumi"], Console(StringIO()))[stand_in.name]
    assert (found.origin, found.path) == (Origin.INSTALLED, machine.bin / stand_in.name)


def test_what_stands_in_runs_packs_as_what_is_installed_does() -> None:
    for name, each in stand_ins().items():
        part = parts()[name]
        assert part.accepts(each.version) and not part.accepts(part.version)


# The environment


def test_trying_pulumi_touches_nothing_of_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORESITE_CACHE", str(tmp_path / "cache"))
    tools = {}
    for name in ("pulumi", "pulumi-language-python", "pulumi-resource-kubernetes"):
        path = script(tmp_path / name / name, "")
        tools[name] = Tool(name, parts()[name].version, path, Origin.BUILT)
    script(tmp_path / "pulumi-language-python" / "pulumi-language-python-exec", "")
    theirs = {"PATH": "/usr/bin", "PULUMI_HOME": "/theirs", "PULUMI_ACCESS_TOKEN": "secret"}
    theirs |= {"PULUMI_CONFIG_PASSPHRASE_FILE": "/theirs/passphrase", "PULUMI_STACK": "prod"}

    env = environment(tools, tmp_path / "state", {**theirs, "LANG": "C"})

    home = Path(env["PULUMI_HOME"])
    assert home.is_relative_to(tmp_path / "cache")
    assert env["PULUMI_BACKEND_URL"] == f"file://{tmp_path / 'state'}"
    assert (tmp_path / "state").is_dir()
    python = str(Path(sys.executable).parent)
    assert env["PATH"].split(os.pathsep) == [str(home / "bin"), python, "/usr/bin"]
    assert env["PULUMI_CONFIG_PASSPHRASE"] == "" and env["LANG"] == "C"
    assert not env.keys() & {"PULUMI_ACCESS_TOKEN", "PULUMI_CONFIG_PASSPHRASE_FILE", "PULUMI_STACK"}
    plugin = home / "plugins" / "resource-kubernetes-v4.25.0" / "pulumi-resource-kubernetes"
    assert plugin.is_file() and not plugin.parent.is_symlink(), "the CLI skips linked folders"
    assert {path.name for path in (home / "bin").iterdir()} == {
        "pulumi",
        "pulumi-language-python",
        "pulumi-language-python-exec",
    }
    assert environment(tools, tmp_path / "state", theirs)["PULUMI_HOME"] == str(home)
