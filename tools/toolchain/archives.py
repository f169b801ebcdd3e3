"""The publishers' release archives: pinned by digest, and kept as what the parts need of them.

An archive is unpacked only after its digest has been compared over the whole download, and then no
more than the files that tools/versions.toml names, under names of our own.
"""

import gzip
import hashlib
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path, PurePosixPath
from typing import Any

from tools.toolchain import download
from tools.toolchain.cache import cache_directory, filling, hold_lock, platform_tag, writing
from tools.toolchain.console import Console, ToolchainError
from tools.toolchain.installed import Origin, Tool, probe
from tools.toolchain.parts import Part, parts, table
from tools.toolchain.version import Version

_SPELLINGS = {
    "linux-x86_64": {"os": "linux", "arch": "amd64", "cpu": "x64"},
    "linux-aarch64": {"os": "linux", "arch": "arm64", "cpu": "arm64"},
    "darwin-arm64": {"os": "darwin", "arch": "arm64", "cpu": "arm64"},
}
"""Spellings of the platforms of cache.platform_tag by publishers."""


@dataclass(frozen=True, slots=True)
class Archive:
    """A release archive: where it lies, and its digest (``sha256:…``) by platform."""

    name: str
    version: Version
    template: str
    checksums: str
    members: Mapping[str, tuple[str, ...]]
    """The files of each part, its executable first; none where the archive is the executable."""
    digests: Mapping[str, str]

    def url(self, platform: str) -> str:
        """The URL of the archive of ``platform``."""
        return self.template.format(version=self.version, **_SPELLINGS[platform])

    def list_url(self, platform: str) -> str:
        """The URL where its publisher lists the digest of ``platform``."""
        return self.checksums.format(version=self.version, url=self.url(platform))

    @property
    def digest(self) -> str:
        """The pinned digest for this machine; empty where there is none."""
        return self.digests.get(platform_tag(), "")

    @property
    def folder(self) -> Path:
        """The cache's folder of its parts; changes with all that is pinned."""
        key = hashlib.sha256(repr((self.template, self.digest, self.members)).encode())
        name = f"{self.name}-{self.version}-{platform_tag()}-{key.hexdigest()[:12]}"
        return cache_directory() / "archives" / name


@cache
def archives() -> Mapping[str, Archive]:
    """Every release archive by its name, from tools/versions.toml."""
    return {name: _archive(name, row) for name, row in table()["archives"].items()}


def _archive(name: str, row: Mapping[str, Any]) -> Archive:
    members = {part: tuple(files) for part, files in row["members"].items()}
    version = parts()[next(iter(members))].installed
    return Archive(
        name,
        Version.parse(row["version"]) if "version" in row else version,
        row["url"],
        row["checksums"],
        members,
        row["digests"],
    )


def archive_of(part: Part) -> Archive | None:
    """The archive that has ``part`` for this machine, if its digest is pinned."""
    held = (each for each in archives().values() if part.name in each.members and each.digest)
    return next(held, None)


def find_downloaded(part: Part) -> Tool | None:
    """``part`` out of an archive that the cache has."""
    archive = archive_of(part)
    path = archive.folder / part.name if archive else None
    if path is None or not path.exists():
        return None
    version = Version.parse(path.with_name(f"{part.name}.version").read_text(encoding="utf-8"))
    return Tool(part.name, version, path, Origin.DOWNLOADED)


def take_archives(wanted: Iterable[Part], console: Console) -> None:
    """Download the archives of ``wanted``; what cannot be had is said in a line each. Raises
    ToolchainError where a file is another one than what is pinned."""
    found = {each.name: each for part in wanted if (each := archive_of(part))}
    missing = [each for each in found.values() if not each.folder.exists()]
    urls = {each.name: each.url(platform_tag()) for each in missing}
    silent = download.silent_hosts(urls.values())
    for host, reason in silent.items():
        console.say(f"{host}: not reached ({reason}); its parts are built instead")
    for archive in missing:
        url = urls[archive.name]
        if download.host_of(url) in silent:
            continue
        try:
            _take(archive, url, console)
        except download.UnavailableError as error:
            console.say(f"{archive.name} {archive.version}: {error}; built instead")
            if isinstance(error, download.UnreachedError):
                silent[download.host_of(url)] = str(error)


def _take(archive: Archive, url: str, console: Console) -> None:
    """Fill the archive's folder, unless another process has just done so."""
    label = f"{archive.name} {archive.version}"
    waiting = partial(console.say, f"{label}: another process is downloading it, waiting")
    with hold_lock(f"archive-{archive.name}", waiting):
        if archive.folder.exists():
            return
        with filling(archive.folder) as draft, writing(draft):
            console.say(f"{label}: downloading {url}")
            packed = draft / ".archive"
            _download(archive, url, packed, console)
            _unpack(packed, archive, draft)
            packed.unlink(missing_ok=True)
            for name in archive.members:
                if reason := _why_unfit(archive, parts()[name], draft):
                    console.say(f"{label}: {reason}; built instead")
                    (draft / name).unlink(missing_ok=True)
        console.say(f"{label}: downloaded, {archive.folder}")


def _download(archive: Archive, url: str, packed: Path, console: Console) -> None:
    algorithm = archive.digest.partition(":")[0]
    digest, size = hashlib.new(algorithm), 0
    with packed.open("wb") as sink:
        for piece, total in download.chunks(url, download.MOST_BYTES):
            digest.update(piece)
            sink.write(piece)
            size += len(piece)
            of = f" of {download.megabytes(total)}" if total else ""
            console.tick(f"{archive.name} {archive.version}: {download.megabytes(size)}{of} MB")
    found = f"{algorithm}:{digest.hexdigest()}"
    if found == archive.digest:
        return
    raise ToolchainError(
        f"{url} is another file than the one that is pinned, and was not run",
        "do not pin what came: compare with the publisher's list,"
        f" {archive.list_url(platform_tag())}. If that says what is pinned, something on your way"
        " changes files, such as a proxy."
        f" If [archives.{archive.name}] in tools/versions.toml has a new version, empty its digests"
        " and run `python -m tools.toolchain pin`. With an empty digest the parts are built",
        f"expected {archive.digest}\nfound    {found}\n"
        "whoever can change this file could run any command as you",
    )


def _unpack(packed: Path, archive: Archive, folder: Path) -> None:
    """Write the files that the parts need into ``folder``, and nothing else."""
    files = {file for held in archive.members.values() for file in held}
    if not files:
        packed.rename(folder / next(iter(archive.members)))
        return
    try:
        with tarfile.open(packed, "r:gz") as tar:
            for member in tar:
                path = PurePosixPath(member.name)
                fits = member.isreg() and member.size <= download.MOST_BYTES
                if str(path) in files and fits and (source := tar.extractfile(member)):
                    with source, (folder / path.name).open("wb") as out:
                        shutil.copyfileobj(source, out)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise download.UnavailableError(f"cannot be unpacked: {error}") from error


def _why_unfit(archive: Archive, part: Part, folder: Path) -> str:
    """Why the archive's ``part`` cannot be used; empty if it can, and its version is noted."""
    path = folder / part.name
    for file in archive.members[part.name]:
        beside = folder / PurePosixPath(file).name
        if not beside.exists():
            return f"it has no file {file}"
        beside.chmod(0o755)
    path.chmod(0o755)
    version = probe(path, part.probe, os.environ) if part.probe else archive.version
    if version is None or not part.accepts(version):
        return f"its {part.name} says version {version}, and {part.installed} is wanted"
    path.with_name(f"{part.name}.version").write_text(f"{version}\n", encoding="utf-8")
    return ""
