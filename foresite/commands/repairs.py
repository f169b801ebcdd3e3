"""``foresite repairs``: the hosts and devices that were repaired most often in 90 days, by serial
number: the list for returning them to their maker. Nothing is changed."""

import argparse
import csv
import io
import re
import time
from collections.abc import Iterator

from components.making.manifest import Json
from components.remediation.names import HISTORY_ANNOTATION
from foresite.command import OK, print_report, repository, show
from foresite.commands.check import sound
from foresite.delivery.servers.metal3 import metal3_objects
from schemas.facts.adopted import management_names

COLUMNS = ("serial", "host", "device", "repairs", "resets", "first", "last", "faults")
_DAYS = 90
_SECONDS = _DAYS * 86_400
_ODD = re.compile("[^0-9A-Za-z:.,_-]")


def run(options: argparse.Namespace) -> int:
    """List the repairs of one site's hosts, which its management cluster has."""
    (site,) = sound(repository(options), [options.site], options.format)
    names = management_names(site)
    hosts = metal3_objects(site.file.management, names.namespace, "baremetalhosts")
    every = (row for host in hosts for row in rows(host, int(time.time())))
    found = sorted(every, key=lambda row: (-row["repairs"], row["host"], row["device"]))
    if options.format == "csv":
        table = io.StringIO()
        writer = csv.DictWriter(table, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({**each, "faults": " ".join(each["faults"])} for each in found)
        show(table.getvalue(), end="")
    else:
        lines = list(map(_line, found)) or [f"no repairs in {_DAYS} days"]
        print_report(options.format, found, lines)
    return OK


def rows(host: Json, now: int) -> Iterator[Json]:
    """A row for a host with repairs, and one for each device that they name: all of them, with the
    dates of the first and the last. Odd entries are none (node_repair/history.py)."""
    metadata = host["metadata"]
    note = (metadata.get("annotations") or {}).get(HISTORY_ANNOTATION, "")
    serial, *entries = ([*_ODD.sub("", p).split(","), "", "", ""][:4] for p in note.split(";"))
    repairs = [
        (int(when), how, fault, device)
        for when, how, fault, device in entries
        if fault and re.fullmatch("[1-9][0-9]{8,9}", when) and -600 <= now - int(when) < _SECONDS
    ]
    for device in ("", *sorted({each[3] for each in repairs} - {""})) if repairs else ():
        mine = [each for each in repairs if device in ("", each[3])]
        dates = [time.strftime("%Y-%m-%d", time.gmtime(each[0])) for each in mine]
        resets = sum(each[1] == "reset" for each in mine)
        values = (serial[0], metadata["name"], device, len(mine), resets, min(dates), max(dates))
        yield dict(zip(COLUMNS, (*values, sorted({each[2] for each in mine})), strict=True))


def _line(row: Json) -> str:
    device = f", device {row['device']}" if row["device"] else ""
    return (
        f"{row['serial'] or 'serial unknown'} ({row['host']}{device}): {row['repairs']} repairs, "
        f"{row['resets']} by reset, {row['first']} to {row['last']}: {', '.join(row['faults'])}"
    )
