"""Fills the empty digests of tools/versions.toml from the publishers' own lists, for a person with
Internet access, who commits the difference. Digests that are there are compared alone."""

import re
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path, PurePosixPath

from tools.toolchain.archives import Archive, archives
from tools.toolchain.console import Console, ToolchainError
from tools.toolchain.download import UnavailableError, host_of, is_offline, silent_hosts, text_of
from tools.toolchain.parts import VERSIONS

_HEX = r"([0-9a-f]{128}|[0-9a-f]{64})"
_ALGORITHMS = {64: "sha256", 128: "sha512"}


def pin(console: Console, path: Path = VERSIONS) -> bool:
    """Fill and compare every digest; True if all are what their publishers say. Raises
    ToolchainError where nothing may be downloaded, or the table cannot be edited."""
    if is_offline():
        fix = "unset it: the digests are read from the publishers"
        raise ToolchainError("FORESITE_OFFLINE is set", fix)
    places = [(each, platform) for each in archives().values() for platform in each.digests]
    silent = silent_hosts(each.list_url(platform) for each, platform in places)
    for host, reason in silent.items():
        console.say(f"{host}: not reached ({reason})")
    read, good = cache(text_of), not silent
    for archive, platform in places:
        if host_of(archive.list_url(platform)) in silent:
            continue
        agreed, verdict = _compare(archive, platform, path, read)
        console.say(f"{archive.name} {archive.version} {platform}: {verdict}")
        good = good and agreed
    return good


def _compare(
    archive: Archive, platform: str, path: Path, read: Callable[[str], str]
) -> tuple[bool, str]:
    """Whether the pinned digest is the published one now, and what to say."""
    pinned, url = archive.digests[platform], archive.list_url(platform)
    try:
        found = published_digest(read(url), PurePosixPath(archive.url(platform)).name)
    except UnavailableError as error:
        return False, str(error)
    if not found:
        return False, f"{url} does not list it"
    if not pinned:
        fill(path, archive.name, platform, found)
        return True, f"pinned as {found}, from {url}"
    if pinned == found:
        return True, "is what its publisher says"
    return False, f"{pinned} is pinned and {found} is published ({url}); it was left as it is"


def published_digest(text: str, file: str) -> str:
    """The digest of ``file`` in a list of digests, such as ``sha256:…``; empty if it has none.
    Lists are lines of digest and name (coreutils), one digest (Kubernetes), or envtest's YAML."""
    name = re.escape(file)
    forms = (
        rf"^{_HEX}[ \t]+\*?(?:\S*/)?{name}[ \t]*$",
        rf"^\s*{name}:\s*\n\s*hash:\s*{_HEX}\s*$",
        rf"\A\s*{_HEX}\s*\Z",
    )
    found = next(filter(None, (re.search(form, text, re.MULTILINE) for form in forms)), None)
    return f"{_ALGORITHMS[len(found[1])]}:{found[1]}" if found else ""


def fill(path: Path, archive: str, platform: str, digest: str) -> None:
    """Write one digest in place of its empty text; all else stays. Raises ToolchainError where the
    table has no line of the form ``PLATFORM = ""`` for it."""
    text = path.read_text(encoding="utf-8")
    head, section, rest = text.partition(f"[archives.{archive}.digests]\n")
    line = rf'^({re.escape(platform)} = )""$'
    edited = head + section + re.sub(line, rf'\g<1>"{digest}"', rest, count=1, flags=re.MULTILINE)
    wanted = tomllib.loads(text)
    wanted["archives"][archive]["digests"][platform] = digest
    if tomllib.loads(edited) != wanted:
        fix = f'write {platform} = "{digest}" there by hand'
        raise ToolchainError(f"{path} cannot be edited in [archives.{archive}.digests]", fix)
    path.write_text(edited, encoding="utf-8")
