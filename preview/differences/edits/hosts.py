"""Edits of the host list: lines that come and go, and cells that differ."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

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
    sides = [_HostText.of(before), _HostText.of(after)]
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

        for cause in _host_causes(mine, theirs, sides):
            yield Edit(cause, apply, name)


class _HostText(NamedTuple):
    """The lines of a host list, to say where a cell stands."""

    file: str
    lines: list[str]

    @classmethod
    def of(cls, side: Input) -> "_HostText":
        file = f"{side.site.name}.hosts.csv"
        data = read(side.folder / "sites", file)
        text = "" if isinstance(data, Refused) else data.decode("utf-8")
        return cls(f"sites/{file}", text.split("\n"))

    def column(self, host: Host, name: str) -> int:
        header = self.lines[0].rstrip("\r").split(",")
        if name not in header:
            return 1
        return cell_column(self.lines[host.line - 1], header, name)


def _host_causes(mine: Host | None, theirs: Host | None, sides: list[_HostText]) -> Iterator[Cause]:
    if mine is None and theirs is not None:
        yield Cause(sides[1].file, theirs.line, 1, f"hosts.{theirs.name}", "", "a new line")
    elif theirs is None and mine is not None:
        yield Cause(sides[0].file, mine.line, 1, f"hosts.{mine.name}", "its line", "", gone=True)
    elif mine is not None and theirs is not None:
        for name in dict.fromkeys((*mine.columns, *theirs.columns)):
            old, new = mine.cell(name), theirs.cell(name)
            if old != new:
                at = (sides[1].file, theirs.line, sides[1].column(theirs, name))
                yield Cause(*at, f"hosts.{theirs.name}.{name}", old, new)
