"""``foresite hosts import`` and ``verify``: a host list proposed from an inventory, and hosts
compared with their inspection. Nothing else asks an inventory: other commands read Git alone."""

import argparse
import os
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from foresite.command import FOUND, OK, UsageError, count, few, repository
from foresite.commands.check import show_problems, sound
from foresite.delivery.servers.metal3 import metal3_objects
from foresite.https import server_url, token_of
from foresite.inventory import metal3, netbox, redfish, tables
from foresite.inventory.comparison import compare
from foresite.inventory.proposal import Proposal, as_csv
from foresite.inventory.records import SOURCES, Intake, at_path, read_rules, say
from foresite.scratch import replace_files
from preview.states.snapshot import DATA
from schemas.facts.adopted import management_names
from schemas.kubernetes.bodies import Json, items
from schemas.load import Loaded, load_site
from schemas.model.codes import Code
from schemas.reading.catalogue import installed_files
from schemas.reading.host_list import EVERY_COLUMN, is_further
from schemas.reading.site_files import HOST_LIST, read
from schemas.reading.tree import Tree

_SOURCES = ("netbox", "metal3", "xlsx", "csv", "redfish")
_UNREAD = [Code(e) for e in ("hosts-text", "hosts-columns", "file-unreadable", "file-too-large")]
"""Faults of a list that no cell can be read of, so that nothing may take its place."""


def run(options: argparse.Namespace) -> int:
    """Import or verify the hosts of one site."""
    root = repository(options)
    return (_import if options.action == "import" else _verify)(root, options)


def _import(root: Path, options: argparse.Namespace) -> int:
    if options.source not in _SOURCES:
        raise UsageError(f"say --from, one of {', '.join(_SOURCES)}")
    if wrong := [e for e in options.take if e not in EVERY_COLUMN and not is_further(e)]:
        raise UsageError(f"--take {few(wrong, 5)}: write one of {', '.join(EVERY_COLUMN)}")
    loaded, name = load_site(root, options.site), options.site + HOST_LIST
    unread = [e for e in loaded.problems if e.file == f"sites/{name}" and e.code in _UNREAD]
    if loaded.document is None or unread:
        show_problems(options.format, {options.site: loaded}, list(loaded.problems))
        return FOUND
    lines = _lines(root, name)
    intake = _intake(options, loaded.document.value, lines)
    if not intake.records and not intake.problems:
        raise UsageError(f"{options.source}: no hosts; nothing was written")
    _compare_networks(intake, loaded.document.value)
    found = Proposal(lines, f"sites/{name}", intake, options.take)
    judged = [each for each in _with_list(root, name, found.text()).problems
              if each.file == f"sites/{name}"]  # fmt: skip
    if options.write and any(each.code is Code("hosts-cell") for each in judged):
        raise UsageError("the list would have empty or wrong cells; import without --write")
    wanted = name if options.write else f"{options.site}.hosts.proposed.csv"
    texts = {wanted: found.text(), f"{options.site}.hosts.changes.csv": as_csv(found.changes)}
    told = [f"{count(len(intake.records), 'host')} of {options.source}: {found.summary()}"]
    if found.changes:
        replace_files(root / "sites", {file: text.encode() for file, text in texts.items()})
        told += [f"written: sites/{file}" for file in texts]
    more = [replace(each, file=f"sites/{wanted}") for each in judged
            if each.value or each.code is not Code("hosts-cell")]  # fmt: skip
    problems = [*found.problems, *more]
    show_problems(options.format, {options.site: loaded}, problems, told)
    return FOUND if problems else OK


def _lines(root: Path, name: str) -> list[str]:
    """The lines of a host list that has been read; none where there is no such file."""
    data = read(root / "sites", name)
    text = data.decode() if isinstance(data, bytes) else ""
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []


def _intake(options: argparse.Namespace, site: Any, lines: list[str]) -> Intake:
    """The hosts of the source that the command line names."""
    source, file = options.source, options.file
    rules = read_rules(source if source in SOURCES else "table", options.map)
    if source == "metal3":
        context = at_path(site, "management")
        space = at_path(site, "adopted.namespace") or options.site  # the list may have faults yet
        return metal3.read(_objects(file, context, space), str(file or context), rules)
    if source == "redfish":
        cells = [dict(zip(lines[0].split(","), each.split(","), strict=True)) for each in lines]
        return redfish.read(redfish.addresses(options.bmc or [e["bmc"] for e in cells[1:]]), rules)
    if source == "netbox":
        query = defaultdict(list)
        for name, equals, value in (each.partition("=") for each in options.query):
            if not (name and equals):
                raise UsageError("--query: write NAME=VALUE, such as role=gpu")
            query[name].append(value)
        url = server_url("--url", options.url or os.environ.get("NETBOX_URL", ""))
        token = token_of("NETBOX_TOKEN", "make one in NetBox that may only read")
        return netbox.read(netbox.NetBox(url, token), {"site": [options.site], **query}, rules)
    if file is None:
        raise UsageError("say --file, the table")
    table = tables.read_csv(file) if source == "csv" else tables.read_sheet(file, options.sheet)
    return tables.read_rows(table, rules)


def _objects(file: Path | None, context: str, namespace: str) -> list[Json]:
    """The hosts and their hardware: of a file, or else of the management cluster."""
    if file:
        return metal3.read_objects(file, namespace)
    return [{**each, "kind": kind} for kind, plural in metal3.KINDS.items()
            for each in metal3_objects(context, namespace, plural)]  # fmt: skip


def _compare_networks(intake: Intake, site: Any) -> None:
    """Note addresses whose network is not as long as that of their zone."""
    zones = {at_path(each, "name"): at_path(each, "network") for each in items(site, "zones")}
    for record in intake.records:
        raw = record.cells["ip"].raw if "ip" in record.cells else ""
        (_, slash, length), zone = raw.partition("/"), record.key("zone")
        network = zones.get(zone, "") if slash else ""
        if network and network.partition("/")[2] != length:
            said = {"column": "ip", "value": raw, "length": length, "zone": zone}
            intake.problems.append(say("prefix", record.place, {**said, "network": network}))


def _with_list(root: Path, name: str, text: str) -> Loaded:
    """The site with another host list, judged as ``check`` does."""
    paths = (path for top in DATA for path in (root / top).rglob("*"))
    files = {each.relative_to(root).as_posix(): read(root, each.relative_to(root).as_posix())
             for each in paths if each.is_file()}  # fmt: skip
    files |= {f"sites/{name}": text.encode()}
    return load_site(Tree({**installed_files(), **files}), name.removesuffix(HOST_LIST))


def _verify(root: Path, options: argparse.Namespace) -> int:
    (site,) = sound(root, [options.site], options.format)
    name = options.site + HOST_LIST
    file = None if options.source in (None, "cluster") else Path(options.source)
    space = management_names(site).namespace
    known = metal3.hardware(_objects(file, site.file.management, space))
    problems = compare(site, f"sites/{name}", _lines(root, name), known)
    wrong = {each.line for each in problems if each.code is Code("host-differs")}
    unseen = {each.line for each in problems} - wrong
    fine = len(site.hosts) - len(wrong | unseen)
    told = [f"{fine} hosts are what their lines say, {len(wrong)} are not, {len(unseen)} not known"]
    strangers = sorted({*known} - {host.name for host in site.hosts})
    told += [f"inspected, but on no line: {few(strangers, 20)}"] if strangers else []
    told += ["accelerators are not known: HardwareData has none (docs/inventory.md)"]
    show_problems(options.format, {site.name: load_site(root, site.name)}, problems, told)
    return FOUND if problems else OK
