"""Rules on files, commands and kernel settings of hosts: nobody else writes them, and the host
still joins.

cloud-init puts all commands into one script for sh, which goes on after one that fails (cloud-init
22.4 to 26.2, cc_runcmd, util.shellify). Who else writes what is in host_settings.toml.
"""

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path as FilePath

from schemas.facts.site import Site
from schemas.kubernetes.secret_scan import secret_names
from schemas.model.codes import Code
from schemas.model.host_settings import HostFile, HostSettings
from schemas.rules.files import MAX_FILE_CHARACTERS, host_files
from schemas.rules.finding import Finding, Path
from schemas.rules.scope import InPool

_TAKEN = tomllib.loads(FilePath(__file__).with_suffix(".toml").read_text("utf-8"))
KUBELET_SYSCTLS: dict[str, int] = _TAKEN["kubelet"]
_MARKS = ("{{", "{%", "{#")
_STARTS = re.compile(r"(?:^|[;&|({]|\b(?:then|do|else|sudo|systemctl|exec)\b)\s*([a-z]+)")
_OPEN_END = re.compile(r"(\\|&&|\|\|?|\b(then|do|else|in)|[({])\s*$")
_OTHERS_WRITE = re.compile(r"^set\s+[-+](o\s+(errexit|nounset|noexec)|[a-z]*[eun])")


def host_file_content(site: Site) -> Iterator[Finding]:
    """Each file of hosts has one content, which is no template and holds no secret."""
    for each, place in host_files(site.file):
        if (each.content is None) is (each.source is None):
            message = f"{each.path} has " + ("no content" if each.content is None else "two")
            fix = "write either content, or source"
            yield Finding(Code.INVALID_VALUE, place, message, fix)
            continue
        field = "source" if each.source else "content"
        text = site.texts.get(each.source) if each.source else each.content
        if text is not None:
            yield from _content((*place, field), each, text.replace("\r\n", "\n"))


def _content(place: Path, file: HostFile, text: str) -> Iterator[Finding]:
    for mark in _MARKS:
        if mark in text:
            message = f"{file.path} has {mark}, which marks a template on the host"
            fix = "write it otherwise, or put the file into the OS image"
            yield Finding(Code.TEMPLATE_MARK, place, message, fix)
    if name := next(secret_names(text), None):
        message = f"{file.path} sets {name}, which looks like a secret"
        fix = "put it into a Secret that pods mount, or let the host fetch it; and change it"
        yield Finding(Code.SECRET_IN_FILE, place, message, fix)
    if len(text) > MAX_FILE_CHARACTERS:
        message = f"{file.path} has {len(text)} characters, and may have {MAX_FILE_CHARACTERS}"
        fix = "put the file into the OS image"
        yield Finding(Code.FILE_CONTENT, place, message, fix)
    if any(ord(sign) < 32 and sign not in "\n\t" for sign in text):
        fix = "put the file into the OS image"
        yield Finding(Code.FILE_CONTENT, place, f"{file.path} is no plain text", fix)


def _parts(site: Site) -> Iterator[tuple[HostSettings, Path]]:
    """The settings of the site and of its pools, with their places."""
    yield site.file.host_settings, ("host_settings",)
    for number, pool in enumerate(site.file.pools):
        if pool.host_settings is not None:
            yield pool.host_settings, ("pools", number, "host_settings")


def host_paths(site: Site) -> Iterator[Finding]:
    """No file that somebody else writes, and none twice."""
    for settings, place in _parts(site):
        seen: set[str] = set()
        for number, each in enumerate(settings.files):
            at = (*place, "files", number, "path")
            # Longer ones first: /etc/kubernetes, and then /etc.
            starts = sorted(_TAKEN["paths"], key=len, reverse=True)
            owner = next((start for start in starts if _below(each.path, start)), None)
            if owner:
                message = f"{each.path} belongs to {_TAKEN['paths'][owner]}"
                fix = "write another path, or the field that it comes from"
                yield Finding(Code.RESERVED_NAME, at, message, fix)
            if each.path in seen:
                message = f"{each.path} stands twice"
                yield Finding(Code.DUPLICATE_NAME, at, message, "remove one of them")
            seen.add(each.path)


def _below(path: str, start: str) -> bool:
    return (
        path == start
        or path.startswith(start if start.endswith("-") else f"{start}/")
        or (start.endswith("_") and path.startswith(start))
    )


def host_sysctls(at: InPool) -> Iterator[Finding]:
    """No kernel setting that somebody else sets, and those that the kubelet demands."""
    kubelet, settings = at.site.kubelet(at.pool), at.site.host_settings(at.pool)
    own = at.pool.host_settings is not None
    place: Path = (*(at.path("host_settings") if own else ("host_settings",)), "sysctls")
    for key, value in settings.sysctls.items():
        wanted = KUBELET_SYSCTLS.get(key) if kubelet.protect_kernel_defaults else None
        needed = _TAKEN["needed"].get(key, wanted)
        if needed is not None and str(value) != str(needed):
            message = f"{key} has to be {needed}"
            yield Finding(Code.INVALID_VALUE, (*place, key), message, f"write {needed}")
        owner = _TAKEN["sysctls"].get(key)
        if key in KUBELET_SYSCTLS and wanted is None:
            owner = f"the kubelet, which makes it {KUBELET_SYSCTLS[key]}"
        if owner:
            message = f"{key} is set by {owner}"
            yield Finding(Code.RESERVED_NAME, (*place, key), message, "remove it", key=True)
        if key == "kernel.pid_max" and str(value).isdecimal():
            most = kubelet.max_pids or 0
            if int(value) <= most:
                message = f"the host has {value} processes, and one pod may have {most}"
                fix = f"write {most * 4}, or a smaller kubelet.max_pids"
                yield Finding(Code.OUT_OF_BOUNDS, (*place, key), message, fix)
    missing = sorted(KUBELET_SYSCTLS.keys() - settings.sysctls.keys())
    if kubelet.protect_kernel_defaults and missing:
        said = ", ".join(f"{key}: {KUBELET_SYSCTLS[key]}" for key in missing)
        message = "the kubelet changes no kernel setting, and stops at those that it needs"
        where = at.kubelet_path("protect_kernel_defaults")
        yield Finding(Code.KUBELET_REFUSES, where, message, f"add host_settings.sysctls: {said}")


def kernel_arguments(site: Site) -> Iterator[Finding]:
    """No argument of the kernel without which the host does not boot or join, and none twice."""
    for settings, place in _parts(site):
        seen: set[str] = set()
        for number, each in enumerate(settings.kernel_arguments):
            at = (*place, "kernel_arguments", number)
            why = _TAKEN["arguments"].get(each, _TAKEN["arguments"].get(each.partition("=")[0]))
            if why:
                message = f"{each} is not for a site to say: {why}"
                yield Finding(Code.RESERVED_NAME, at, message, "remove it")
            if each in seen:
                message = f"{each} stands twice"
                yield Finding(Code.DUPLICATE_NAME, at, message, "remove one of them")
            seen.add(each)


def host_commands(site: Site) -> Iterator[Finding]:
    """No command that ends, or swallows, the join that comes after it."""
    for settings, place in _parts(site):
        for field in ("before_join", "after_join"):
            for number, line in enumerate(getattr(settings, field)):
                at = (*place, field, number)
                if mark := next((mark for mark in _MARKS if mark in line), None):
                    message = f"the line has {mark}, which marks a template on the host"
                    fix = "put the command into a program of the OS image"
                    yield Finding(Code.TEMPLATE_MARK, at, message, fix)
                elif why := _line_fault(line):
                    fix = "write a line that is whole, and leaves the shell as it was"
                    yield Finding(Code.HOST_COMMAND, at, why, fix)


def _line_fault(line: str) -> str:
    """What a line would do to the script that it is a part of; empty where nothing."""
    try:
        shlex.split(line, comments=True)
    except ValueError:
        return "a quote in it does not end, so that the lines after it are no commands"
    if _OPEN_END.search(line) or "<<" in line:
        return "it goes on in the next line, which is another command"
    if _OTHERS_WRITE.match(line.strip()):
        return "set changes the shell for all lines after it, and the host may never join"
    words = _TAKEN["words"]
    found = next((word for word in _STARTS.findall(line) if word in words), "")
    return f"{found}: {words[found]}" if found else ""
