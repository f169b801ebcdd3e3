"""Edits of the host list: lines that come and go, and cells that differ."""

from collections.abc import Iterator
from dataclasses import replace

from preview.differences.edits.edit import Edit, Input
from preview.result import Cause
from schemas.facts.site import Site
from schemas.reading.host_list import Host, cell_column
from schemas.reading.site_files import read
from schemas.reading.tree import Refused


def host_edits(before: Input, after: Input) -> Iterator[Edit]:
    """Every edit of the host list; the order of its lines is none."""
    if before.site.hosts == after.site.hosts:
        return
    file = f"{after.site.name}.hosts.csv"
    data = read(after.folder / "sites", file)
    lines = ("" if isinstance(data, Refused) else data.decode("utf-8")).split("\n")
    old = {host.name: host for host in before.site.hosts}
    new = {host.name: host for host in after.site.hosts}
    for name in dict.fromkeys((*new, *old)):
        mine, theirs = old.get(name), new.get(name)
        if mine and theirs and mine._replace(line=theirs.line) == theirs:
            continue

        def apply(
            site: Site, forward: bool, mine: Host | None = mine, theirs: Host | None = theirs
        ) -> Site:
            wanted = theirs if forward else mine
            name = (mine or theirs or site.hosts[0]).name
            hosts = [h for h in site.hosts if h.name != name]
            return replace(site, hosts=(*hosts, wanted) if wanted else tuple(hosts))

        for cause in _host_causes(f"sites/{file}", lines, mine, theirs):
            yield Edit(cause, apply, name)


def _host_causes(
    file: str, lines: list[str], mine: Host | None, theirs: Host | None
) -> Iterator[Cause]:
    """The differences in a host's line; ``lines`` are the later ones, for the place of a cell."""
    if mine is None and theirs is not None:
        yield Cause(file, theirs.line, 1, f"hosts.{theirs.name}", "", "a new line")
    elif theirs is None and mine is not None:
        yield Cause(file, mine.line, 1, f"hosts.{mine.name}", "its line", "", gone=True)
    elif mine is not None and theirs is not None:
        header = lines[0].rstrip("\r").split(",")
        for name in dict.fromkeys((*mine.columns, *theirs.columns)):
            old, new = mine.cell(name), theirs.cell(name)
            if old != new:
                there = name in header
                column = cell_column(lines[theirs.line - 1], header, name) if there else 1
                yield Cause(file, theirs.line, column, f"hosts.{theirs.name}.{name}", old, new)
