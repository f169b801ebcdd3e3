"""Release archives: what is taken, what is refused, and what happens where a publisher fails."""

import dataclasses
import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPResponse
from io import StringIO
from pathlib import Path
from threading import Barrier

import pytest

from tests.kit.repository import ROOT
from tests.kit.toolchain_machine import GOOD_GO, Machine, script
from tests.kit.toolchain_publisher import (
    Answer,
    Publisher,
    chunked,
    content,
    deaf,
    dripping,
    packed,
    publishing,
    silence,
    status,
)
from tools.toolchain import Console, Origin, Tool, ToolchainError, Tools, Version, parts, provide
from tools.toolchain import archives as archives_module
from tools.toolchain import download as download_module
from tools.toolchain import pin as pin_module
from tools.toolchain.archives import Archive, archives
from tools.toolchain.parts import VERSIONS
from tools.toolchain.pin import fill, pin, published_digest

PLATFORM = "linux-x86_64"
TOOLS = {
    "envtest/etcd": "echo etcd Version: 3.6.4",
    "envtest/kube-apiserver": "echo Kubernetes v1.34.1",
    "envtest/kubectl": "echo Client Version: v1.34.1",
}
ENVTEST = packed(TOOLS)
MEMBERS = {Path(file).name: (file,) for file in TOOLS}
PATH = "/envtest.tar.gz"


def digest(body: bytes) -> str:
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


class World:
    """A machine, a publisher, and a table of archives that the test fills."""

    def __init__(self, machine: Machine, publisher: Publisher) -> None:
        self.machine, self.publisher = machine, publisher
        self.archives: dict[str, Archive] = {}

    def offer(
        self, body: bytes = ENVTEST, answer: Answer | None = None, url: str | None = None
    ) -> Archive:
        """Pin ``body`` as envtest, and let the publisher give ``answer`` for it."""
        self.publisher.answers[PATH] = answer or content(body)
        url = url or self.publisher.url(PATH)
        pinned = {PLATFORM: digest(body)}
        made = Archive("envtest", Version(1, 34, 1), url, f"{url}.sha256", MEMBERS, pinned)
        self.archives["envtest"] = made
        return made

    def ensure(self, group: str = "controlplane") -> tuple[Tools, str]:
        said = StringIO()
        return provide.ensure([group], Console(said)), said.getvalue()

    def refused(self, group: str = "controlplane") -> ToolchainError:
        with pytest.raises(ToolchainError) as caught:
            provide.ensure([group], Console(StringIO()))
        return caught.value

    def pin(self, path: Path) -> tuple[bool, str]:
        said = StringIO()
        return pin(Console(said), path), said.getvalue()


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    machine = Machine(tmp_path)
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name in ("KUBEBUILDER_ASSETS", "PULUMI_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in machine.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("FORESITE_OFFLINE")
    # A machine without processor time must not pass for a host that is silent.
    for bound in ("CONNECT_SECONDS", "STALL_SECONDS", "OVERALL_SECONDS"):
        monkeypatch.setattr(download_module, bound, 60.0)
    with publishing() as publisher:
        made = World(machine, publisher)
        for module in (archives_module, pin_module):
            monkeypatch.setattr(module, "archives", lambda: made.archives)
        monkeypatch.setattr(archives_module, "platform_tag", lambda: PLATFORM)
        yield made


# The table


@pytest.mark.parametrize("archive", archives().values(), ids=lambda each: each.name)
def test_an_archive_of_the_table_can_be_asked_for_and_compared(archive: Archive) -> None:
    held = [parts()[name] for name in archive.members]
    assert any(part.accepts(archive.version) for part in held)
    for name, files in archive.members.items():
        assert not files or Path(files[0]).name == name
    assert all(archive.members.values()) or len(archive.members) == 1
    for platform, pinned in archive.digests.items():
        assert re.fullmatch("|sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}", pinned)
        for url in (archive.url(platform), archive.list_url(platform)):
            assert url.startswith("https://") and not set("{}") & set(url)


def test_what_make_up_needs_is_pinned_for_linux() -> None:
    for part in parts().values():
        if part.group in ("controlplane", "pulumi"):
            (archive,) = (each for each in archives().values() if part.name in each.members)
            assert archive.digests["linux-x86_64"] and archive.digests["linux-aarch64"], part.name


# What is as pinned


def test_parts_come_from_one_download_and_are_kept(world: World) -> None:
    world.offer()
    tools, text = world.ensure()
    assert {name: str(tool.version) for name, tool in tools.items()} == {
        "etcd": "3.6.4",
        "kube-apiserver": "1.34.1",
        "kubectl": "1.34.1",
    }
    assert {tool.origin for tool in tools.values()} == {Origin.DOWNLOADED}
    assert world.publisher.downloads() == 1
    assert f"downloading {world.publisher.url(PATH)}" in text
    world.publisher.asked.clear()
    again, text = world.ensure()
    assert again == tools == provide.locate(["controlplane"])
    assert "missing" not in text and world.publisher.asked == []


def test_a_download_shows_how_far_it_is(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks: list[str] = []
    monkeypatch.setattr(Console, "tick", lambda _, text: ticks.append(text))
    world.offer()
    world.ensure()
    size = f"{len(ENVTEST) / 1e6:.1f}"
    assert ticks[-1] == f"envtest 1.34.1: {size} of {size} MB"


def test_an_executable_that_is_no_archive_is_taken_as_it_is(world: World) -> None:
    body = b"#!/bin/sh\necho Kubernetes v1.34.3\n"
    url = world.publisher.url("/kubelet")
    world.publisher.answers["/kubelet"] = content(body)
    for part in parts().values():
        if part.group == "scheduling" and part.name != "kubelet":
            world.machine.put(part.name, f"echo v{part.version}")
    pinned = {PLATFORM: f"sha512:{hashlib.sha512(body).hexdigest()}"}
    held = {"kubelet": ()}
    world.archives["kubelet"] = Archive("kubelet", Version(1, 34, 3), url, url, held, pinned)
    tool = world.ensure("scheduling")[0]["kubelet"]
    assert (tool.origin, tool.path.read_bytes()) == (Origin.DOWNLOADED, body)


def test_what_lies_beside_an_executable_comes_with_it(world: World) -> None:
    body = packed(
        {
            "pulumi/pulumi": "echo v3.255.0",
            "pulumi/pulumi-language-python": "echo 3.255.0",
            "pulumi/pulumi-language-python-exec": "",
            "pulumi/pulumi-watch": "",
        }
    )
    url = world.publisher.url("/pulumi.tar.gz")
    world.publisher.answers["/pulumi.tar.gz"] = content(body)
    members = archives()["pulumi"].members
    pinned = {PLATFORM: digest(body)}
    world.archives["pulumi"] = Archive("pulumi", Version(3, 255, 0), url, url, members, pinned)
    plugin = "resource-kubernetes-v4.25.0/pulumi-resource-kubernetes"
    script(world.machine.bin.parent / ".pulumi" / "plugins" / plugin, "")
    tools, _ = world.ensure("pulumi")
    host = tools["pulumi-language-python"]
    assert host.path.with_name("pulumi-language-python-exec").is_file()
    assert (host.origin, str(host.version)) == (Origin.DOWNLOADED, "3.255.0")
    assert not host.path.with_name("pulumi-watch").exists()
    assert provide.locate(["pulumi"]) == tools


def test_what_is_installed_is_not_downloaded(world: World) -> None:
    world.offer()
    for file, body in TOOLS.items():
        world.machine.put(Path(file).name, body)
    tools, _ = world.ensure()
    assert {tool.origin for tool in tools.values()} == {Origin.INSTALLED}
    assert world.publisher.asked == []


def test_what_stands_in_for_a_part_and_is_at_hand_is_not_downloaded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = world.publisher.url("/pulumi.tar.gz")
    members, pinned = archives()["pulumi"].members, {PLATFORM: digest(b"")}
    world.archives["pulumi"] = Archive("pulumi", Version(3, 255, 0), url, url, members, pinned)
    world.machine.put("pulumi", "echo v3.255.0")
    plugin = "resource-kubernetes-v4.25.0/pulumi-resource-kubernetes"
    script(world.machine.bin.parent / ".pulumi" / "plugins" / plugin, "")
    at_hand = Tool("pulumi-language-python", Version(3, 255, 0), Path("/x"), Origin.GIVEN)
    monkeypatch.setattr(provide, "obtain", lambda _: at_hand)
    # The script beside it comes out of a Go module.
    assert "Go is not installed" in str(world.refused("pulumi"))
    assert world.publisher.asked == []


def test_two_processes_download_once(world: World) -> None:
    world.offer()
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: world.ensure()[0], range(2)))
    assert both[0] == both[1] and world.publisher.downloads() == 1


def test_a_redirect_to_another_host_is_followed(world: World) -> None:
    with publishing() as mirror:
        mirror.answers["/moved"] = content(ENVTEST)
        world.offer(answer=status(302, Location=mirror.url("/moved")))
        tools, _ = world.ensure()
        assert tools["etcd"].origin is Origin.DOWNLOADED and mirror.downloads() >= 1


# What is not as pinned


def test_another_file_is_an_error_and_is_never_run(world: World) -> None:
    trace = world.machine.bin.parent / "trace"
    evil = packed(dict.fromkeys(TOOLS, f"touch {trace}"))
    archive = world.offer(answer=content(evil))
    world.machine.put("go", GOOD_GO)
    text = str(world.refused())
    for word in (archive.url(PLATFORM), digest(ENVTEST), digest(evil), archive.list_url(PLATFORM)):
        assert word in text
    assert "was not run" in text and "tools.toolchain pin" in text.split("what to do:")[1]
    assert not trace.exists() and world.machine.builds() == 0 and world.machine.kept() == []


def test_only_what_is_wanted_is_unpacked_and_only_here(world: World) -> None:
    outside = world.machine.bin.parent / "outside"
    link = tarfile.TarInfo("envtest/etcd")
    link.type, link.linkname = tarfile.SYMTYPE, str(outside)
    hard = tarfile.TarInfo("envtest/kubectl")
    hard.type, hard.linkname = tarfile.LNKTYPE, "../../../outside"
    pipe = tarfile.TarInfo("envtest/kube-apiserver")
    pipe.type = tarfile.FIFOTYPE
    hostile = {"../../../outside": "", str(outside): "", "envtest/../../etcd": "", "etcd": "exit 1"}
    world.offer(
        packed(hostile | {f"./{file}": body for file, body in TOOLS.items()}, link, hard, pipe)
    )
    tools, _ = world.ensure()
    assert all(tool.path.is_file() and not tool.path.is_symlink() for tool in tools.values())
    folder = tools["etcd"].path.parent
    assert {path.name for path in folder.iterdir()} == {
        name for part in MEMBERS for name in (part, f"{part}.version")
    }
    assert not outside.exists() and world.machine.kept() == [folder.name]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE])
def test_a_link_is_not_the_file(world: World, kind: bytes) -> None:
    link = tarfile.TarInfo("envtest/etcd")
    link.type, link.linkname = kind, "/bin/sh"
    files = {file: body for file, body in TOOLS.items() if file != "envtest/etcd"}
    world.offer(packed(files, link))
    world.machine.put("go", GOOD_GO)
    tools, text = world.ensure()
    assert "it has no file envtest/etcd; built instead" in text
    assert (tools["etcd"].origin, tools["kubectl"].origin) == (Origin.BUILT, Origin.DOWNLOADED)


# A publisher that fails: the parts are built


HALF = ENVTEST[: len(ENVTEST) // 2]
CASES = {
    "absent": ("404 Not Found", {}),
    "broken": ("503 Service Unavailable", {}),
    "cut off": ("cut off after", {}),
    "cut off, no length": ("IncompleteRead", {}),
    "standing still": ("timed out", {"STALL_SECONDS": 0.2}),
    "slow": ("too slow", {"OVERALL_SECONDS": 0.2}),
    "silent": ("not reached", {"CONNECT_SECONDS": 0.2}),
}
"""Texts that a person reads, and the limits that are lowered."""


def failing(publisher: Publisher, case: str) -> Answer:
    return {
        "absent": status(404),
        "broken": status(503),
        "cut off": content(HALF, len(ENVTEST)),
        "cut off, no length": chunked(HALF),
        "standing still": dripping(ENVTEST, 60, publisher.over),
        "slow": dripping(ENVTEST, 0.01, publisher.over),
        "silent": silence(publisher.over),
    }[case]


@pytest.mark.parametrize("case", CASES)
def test_a_publisher_that_fails_is_told_in_a_line_and_the_parts_are_built(
    world: World, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, bounds = CASES[case]
    for name, value in bounds.items():
        monkeypatch.setattr(download_module, name, value)
    world.offer(answer=failing(world.publisher, case))
    world.machine.put("go", GOOD_GO)
    tools, text = world.ensure()
    (line,) = (line for line in text.splitlines() if "built instead" in line)
    assert words in line
    assert {tool.origin for tool in tools.values()} == {Origin.BUILT}
    assert not list(world.machine.cache.glob("archives/*"))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"no archive", "cannot be unpacked"),
        (HALF, "cannot be unpacked"),
        (packed({"other": ""}), "it has no file envtest/etcd"),
        (packed(TOOLS | {"envtest/etcd": "echo etcd Version: 3.5.21"}), "says version 3.5.21"),
        (packed(TOOLS | {"envtest/etcd": "exit 1"}), "says version None"),
    ],
)
def test_an_archive_without_what_is_wanted_is_not_used(
    world: World, body: bytes, words: str
) -> None:
    world.offer(body)
    world.machine.put("go", GOOD_GO)
    tools, text = world.ensure()
    assert words in text and tools["etcd"].origin is Origin.BUILT


def test_a_file_without_end_is_not_read_to_the_end(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download_module, "MOST_BYTES", len(HALF))
    world.offer()
    world.machine.put("go", GOOD_GO)
    assert "larger than" in world.ensure()[1] and world.machine.builds() == 3


@pytest.mark.parametrize("how", ["refuses", "is deaf", "has no name"])
def test_a_host_that_is_not_reached_is_asked_once(
    world: World, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    opened = download_module._open

    def counted(url: str, method: str, timeout: float) -> HTTPResponse:
        asked.append(url)
        return opened(url, method, timeout)

    monkeypatch.setattr(download_module, "_open", counted)
    monkeypatch.setattr(download_module, "CONNECT_SECONDS", 0.3)
    world.machine.put("go", GOOD_GO)
    with deaf() as port:
        port = port if how == "is deaf" else 1
        host = "publisher.invalid" if how == "has no name" else f"127.0.0.1:{port}"
        archive = world.offer(url=f"http://{host}/one")
        held = {"etcd": ("etcd",)}, {"kubectl": ("kubectl",)}
        for number, members in enumerate(held):
            world.archives[str(number)] = dataclasses.replace(
                archive, name=str(number), template=f"http://{host}/{number}", members=members
            )
        del world.archives["envtest"]
        tools, text = world.ensure()
    assert len(asked) == 1 and text.count("not reached") == 1
    assert {tool.origin for tool in tools.values()} == {Origin.BUILT}


def test_a_host_that_fails_on_the_way_is_not_asked_for_the_next_part(world: World) -> None:
    archive = world.offer(answer=content(HALF, len(ENVTEST)))
    etcd, kubectl = {"etcd": ("envtest/etcd",)}, {"kubectl": ("envtest/kubectl",)}
    world.archives = {
        "one": dataclasses.replace(archive, name="one", members=etcd),
        "two": dataclasses.replace(archive, name="two", members=kubectl),
    }
    world.machine.put("go", GOOD_GO)
    world.ensure()
    assert world.publisher.downloads() == 1


def test_all_hosts_are_asked_at_the_same_time(world: World) -> None:
    together = Barrier(2)

    def answer(to: object) -> None:
        together.wait(60)
        status(200)(to)  # type: ignore[arg-type]

    with publishing() as other:
        for each in (world.publisher, other):
            each.answers["/"] = answer
        urls = [each.url("/") for each in (world.publisher, other)]
        assert download_module.silent_hosts(urls) == {}


def test_an_interrupted_download_leaves_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Console, "tick", interrupted)
    world.offer()
    with pytest.raises(KeyboardInterrupt):
        world.ensure()
    assert world.machine.kept() == []


# Proxies, and no network


def test_downloads_go_through_the_proxy(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "http://releases.invalid/envtest.tar.gz"
    world.offer(url=url)
    world.publisher.answers[url] = content(ENVTEST)
    monkeypatch.setenv("HTTP_PROXY", world.publisher.url(""))
    assert world.ensure()[0]["etcd"].origin is Origin.DOWNLOADED
    assert world.publisher.asked == [f"HEAD {url}", f"GET {url}"]


def test_a_host_that_needs_no_proxy_is_asked_directly(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    world.machine.put("go", GOOD_GO)
    world.offer()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert world.ensure()[0]["etcd"].origin is Origin.DOWNLOADED


def test_a_proxy_that_is_not_there_is_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    world.machine.put("go", GOOD_GO)
    world.offer()
    text = world.ensure()[1]
    assert "not reached" in text and world.publisher.asked == []


def test_offline_nothing_is_downloaded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESITE_OFFLINE", "1")
    world.offer()
    world.machine.put("go", f'echo "$GOPROXY" >> "$(dirname "$0")/proxies"\n{GOOD_GO}')
    tools, text = world.ensure()
    assert "missing: etcd 3.6.6, kube-apiserver 1.34.3, kubectl 1.34.3" in text
    assert "FORESITE_OFFLINE" in text and world.publisher.asked == []
    assert {tool.origin for tool in tools.values()} == {Origin.BUILT}
    assert set((world.machine.bin / "proxies").read_text().split()) == {"off"}


def test_what_cannot_be_built_offline_is_told(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORESITE_OFFLINE", "1")
    failing = "echo 'm@v1: module lookup disabled by GOPROXY=off' >&2; exit 1"
    world.machine.put("go", f"[ $1 = env ] && echo go1.26.0 && exit 0\n{failing}")
    error = world.refused()
    assert "etcd 3.6.6 failed" in error.message and "FORESITE_OFFLINE" in error.fix


@pytest.mark.parametrize(("value", "meant"), [("1", True), ("0", False), ("", False)])
def test_what_says_offline(value: str, meant: bool) -> None:
    assert download_module.is_offline({"FORESITE_OFFLINE": value}) is meant
    assert download_module.is_offline({}) is False


# Pinning


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return shutil.copyfile(VERSIONS, tmp_path / "versions.toml")


HEX = {size: "".join(f"{n % 16:x}" for n in range(size)) for size in (64, 128)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{HEX[64]}  tool.tar.gz\n", f"sha256:{HEX[64]}"),
        (f"{'0' * 64}  tool.tar.gz.sig\n{HEX[64]} *./tool.tar.gz", f"sha256:{HEX[64]}"),
        (f"{HEX[128]}  tool.tar.gz", f"sha512:{HEX[128]}"),
        (f"{HEX[64]}\n", f"sha256:{HEX[64]}"),
        (f"v1:\n    tool.tar.gz:\n      hash: {HEX[128]}\n", f"sha512:{HEX[128]}"),
        (f"{HEX[64]}  a-tool.tar.gz\n{HEX[64]}  tool-tar.gz\n", ""),
        (f"{HEX[64][1:]}  tool.tar.gz", ""),
        ("<html>not found</html>", ""),
        ("", ""),
    ],
)
def test_a_digest_is_found_in_every_form_of_list(text: str, expected: str) -> None:
    assert published_digest(text, "tool.tar.gz") == expected


def test_an_empty_digest_is_filled_and_all_else_stays(table: Path) -> None:
    before = table.read_text("utf-8")
    fill(table, "kubelet", "linux-aarch64", f"sha256:{HEX[64]}")
    after = table.read_text("utf-8")
    pairs = zip(before.splitlines(), after.splitlines(), strict=True)
    assert [pair for pair in pairs if pair[0] != pair[1]] == [
        ('linux-aarch64 = ""', f'linux-aarch64 = "sha256:{HEX[64]}"')
    ]
    assert tomllib.loads(after)["archives"]["kubelet"]["digests"]["linux-aarch64"].endswith(HEX[64])


def test_a_table_of_another_form_is_left_alone(table: Path) -> None:
    text = table.read_text("utf-8").replace('linux-aarch64 = ""', "linux-aarch64 = ''")
    table.write_text(text, "utf-8")
    with pytest.raises(ToolchainError, match="by hand"):
        fill(table, "kubelet", "linux-aarch64", f"sha256:{HEX[64]}")
    assert table.read_text("utf-8") == text


def test_pinning_fills_compares_and_never_changes_what_is_pinned(world: World, table: Path) -> None:
    archive = world.offer()
    url = world.publisher.url("/{os}-{arch}/kubelet")
    empty = {"linux-x86_64": "", "linux-aarch64": ""}
    world.archives = {
        "envtest": archive,
        "pulumi": dataclasses.replace(archive, name="pulumi"),
        "kubelet": dataclasses.replace(
            archive, name="kubelet", template=url, checksums="{url}.sha256", digests=empty
        ),
    }
    lists = world.publisher.answers
    lists[f"{PATH}.sha256"] = content(f"{digest(ENVTEST)[7:]}  envtest.tar.gz".encode())
    lists["/linux-amd64/kubelet.sha256"] = content(HEX[64].encode())
    before = table.read_text("utf-8")
    good, text = world.pin(table)
    assert not good, "the list of the other platform is absent"
    assert "envtest 1.34.1 linux-x86_64: is what its publisher says" in text
    assert f"kubelet 1.34.1 linux-x86_64: pinned as sha256:{HEX[64]}" in text
    assert "kubelet 1.34.1 linux-aarch64: http://127.0.0.1" in text and "404 Not Found" in text
    filled = before.replace(
        '[archives.kubelet.digests]\nlinux-x86_64 = ""',
        f'[archives.kubelet.digests]\nlinux-x86_64 = "sha256:{HEX[64]}"',
    )
    assert table.read_text("utf-8") == filled != before

    lists[f"{PATH}.sha256"] = content(b"0" * 64)
    del world.archives["kubelet"]
    good, text = world.pin(table)
    assert not good and f"{digest(ENVTEST)} is pinned and sha256:{'0' * 64} is published" in text
    assert table.read_text("utf-8") == filled


def test_pinning_where_nothing_is_reached_changes_nothing(world: World, table: Path) -> None:
    world.offer(url="http://127.0.0.1:1/envtest.tar.gz")
    before = table.read_text("utf-8")
    good, text = world.pin(table)
    assert not good and "127.0.0.1:1: not reached" in text
    assert table.read_text("utf-8") == before


def test_the_command_pin_fails_cleanly_offline(tmp_path: Path) -> None:
    code, text = Machine(tmp_path).run("pin")
    assert code == 2 and "FORESITE_OFFLINE is set" in text


# The first lines of make


def test_make_says_what_it_sets_up_before_it_does(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "uv.lock"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    script(tmp_path / "bin" / "uv", "mkdir .venv; echo uv has run")
    done = subprocess.run(
        ["make", ".venv/.ready"],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    first, second = (line for line in done.stdout.splitlines() if not line.startswith("make"))
    assert first.startswith("setting up") and ".venv" in first and "once" in first
    assert second == "uv has run"
