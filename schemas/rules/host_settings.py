"""Rules on files, commands and kernel settings of hosts: nobody else writes them, and the host
still joins. Who else writes what is in host_settings.toml.

Each line has a shell of its own, so no line harms the next ones; one that is not whole fails on the
first host, and is refused where it shows.
"""

import re
import shlex
from collections.abc import Iterator

from schemas.facts.host_networks import is_dual
from schemas.facts.site import Site
from schemas.kubernetes.secret_scan import secret_names
from schemas.kubernetes.tables import read_table
from schemas.model.host_agent import HostAgent
from schemas.model.host_settings import HostFile, HostSettings
from schemas.reading.paths import each_at
from schemas.rules.files import HOST_FILES, MAX_FILE_CHARACTERS
from schemas.rules.finding import Finding, InPool, Path, say

_TAKEN = read_table(__file__)
MARKS: dict[str, str] = _TAKEN["marks"]
KUBELET_SYSCTLS: dict[str, int] = _TAKEN["kubelet"]
_BOOLEANS = dict.fromkeys(("no", "n", "false", "f", "off"), "0")
_BOOLEANS |= dict.fromkeys(("yes", "y", "true", "t", "on"), "1")
_BETWEEN_WORDS = re.compile(r"[\s;&|(){}`'\"]+")
_OPEN = re.compile(r"(\\|&&|\||\b(then|do|else|in)|[({])\s*$|<<")


def host_file_content(site: Site) -> Iterator[Finding]:
    """Each file of hosts has one content, which is no template and holds no secret."""
    for place, each in each_at(site.file, *HOST_FILES):
        if (each.content is None) is (each.source is None):
            has = "no content" if each.content is None else "two"
            yield say("host-file-without-one-content", place, each, has)
            continue
        text = site.texts.get(each.source) if each.source else each.content
        at = (*place, "source" if each.source else "content")
        yield from _faults(each, (text or "").replace("\r\n", "\n"), at)


def _faults(file: HostFile, text: str, place: Path) -> Iterator[Finding]:
    for mark in (each for each in MARKS if each in text):
        yield say("host-file-mark", place, file, mark, MARKS[mark])
    for name in list(secret_names(text))[:1]:
        yield say("host-file-secret", place, file, name)
    if len(text) > MAX_FILE_CHARACTERS:
        yield say("host-file-too-long", place, file, len(text), MAX_FILE_CHARACTERS)
    if any(ord(sign) < 32 and sign not in "\n\t" for sign in text):
        yield say("host-file-not-text", place, file)


def host_lists(site: Site) -> Iterator[Finding]:
    """No file or argument of the kernel that is somebody else's, no file twice, and no line
    that ends in the middle or restarts the host."""
    taken = _TAKEN["arguments"] | (_TAKEN["arguments6"] if is_dual(site) else {})
    for place, each in each_at(site.file, "host_settings", "pools.*.host_settings"):
        yield from _lists(each, place, taken) if each is not None else ()


def _lists(settings: HostSettings, place: Path, taken: dict[str, str]) -> Iterator[Finding]:
    paths = [(each.path, (*place, "files", n, "path")) for n, each in enumerate(settings.files)]
    arguments = settings.kernel_arguments
    kernel = [(each, (*place, "kernel_arguments", n)) for n, each in enumerate(arguments)]
    seen: set[str] = set()
    for name, at in (*paths, *kernel):
        if name in seen and name.startswith("/"):  # the kernel reads arguments in their order
            yield say("host-setting-twice", at, name)
        seen.add(name)
        why = file_owner(name) if name.startswith("/") else _argument_owner(name, taken)
        if why:
            yield say("host-setting-taken", at, name, why)
    for field in ("before_join", "after_join"):
        for number, line in enumerate(getattr(settings, field)):
            if fault := _line_fault(line):
                yield say("host-command-unfit", (*place, field, number), fault)


def file_owner(name: str) -> str:
    """Who writes a file; empty where nobody does."""
    starts = ((start, start if start[-1] in "-_" else f"{start}/") for start in _TAKEN["paths"])
    fit = (whole for whole, start in starts if name == whole or name.startswith(start))
    return next((f"it belongs to {_TAKEN['paths'][each]}" for each in fit), "")


def _argument_owner(argument: str, taken: dict[str, str]) -> str:
    """Who says an argument of the kernel, or an element of its list; empty where nobody does. In a
    name - is _, and a boolean has many words (parameq, parse_boolean of systemd)."""
    name, _, value = argument.partition("=")
    name, words = name.replace("-", "_"), [_BOOLEANS.get(x.lower(), x) for x in value.split(",")]
    said = {name, *(f"{name}={word}" for word in words)}
    return next((why for each, why in taken.items() if each.replace("-", "_") in said), "")


def _line_fault(line: str) -> str:
    """What a line would do to the script that it is a part of; empty where nothing."""
    if mark := next((each for each in _TAKEN["marks"] if each in line), ""):
        return f"the line has {mark}: {MARKS[mark]}"
    try:
        shlex.split(line, comments=True)
    except ValueError:
        return "a quote in it does not end, so that no shell runs it"
    if _OPEN.search(line):
        return "it goes on in the next line, which is another command"
    words = [word.lstrip("-").rpartition("/")[2] for word in _BETWEEN_WORDS.split(line)]
    found = (word for word in _TAKEN["words"] if f" {word} " in f" {' '.join(words)} ")
    return next((f"{word}: {_TAKEN['words'][word]}" for word in found), "")


def host_sysctls(at: InPool) -> Iterator[Finding]:
    """No kernel setting that somebody else sets, and those that the kubelet demands."""
    kubelet, sysctls = at.site.kubelet(at.pool), at.site.host_settings(at.pool).sysctls
    own = at.path("host_settings") if at.pool.host_settings else ("host_settings",)
    strict = bool(kubelet.protect_kernel_defaults)
    wanted = _TAKEN["needed"] | (KUBELET_SYSCTLS if strict else {})
    wanted |= _TAKEN["needed6"] if is_dual(at.site) else {}
    others = _TAKEN["sysctls"] | ({} if strict else dict.fromkeys(KUBELET_SYSCTLS, "the kubelet"))
    for key, value in sysctls.items():
        place = (*own, "sysctls", key)
        if key in wanted and str(value) != str(wanted[key]):
            yield say("sysctl-needed", place, key, wanted[key])
        if key in others:
            yield say("sysctl-taken", place, key, others[key])
    missing = sorted(KUBELET_SYSCTLS.keys() - sysctls.keys()) if strict else []
    if missing:
        said = ", ".join(f"{key}: {KUBELET_SYSCTLS[key]}" for key in missing)
        yield say("sysctls-missing", at.kubelet_path("protect_kernel_defaults"), said)


def agents(site: Site, _: HostAgent) -> Iterator[Finding]:
    """The agent that applies settings to running workers has hosts."""
    if not site.worker_pools:
        yield say("agent-without-workers", ("host_agent",))
