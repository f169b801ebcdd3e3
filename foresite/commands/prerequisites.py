"""``foresite prerequisites``: what a site needs from others, before anything is applied."""

import argparse
from collections.abc import Iterator
from textwrap import TextWrapper, indent

import yaml

from components.making.manifest import Json
from foresite.command import OK, few, print_report, repository
from foresite.commands.check import sound
from foresite.delivery.servers.prerequisites import prerequisites

_WRAPPER = TextWrapper(
    80, initial_indent="    ", subsequent_indent="      ", break_on_hyphens=False
)


def run(options: argparse.Namespace) -> int:
    """List operators, Secrets, the OS image and the network of one site."""
    (site,) = sound(repository(options), [options.site], options.format)
    found = prerequisites(site)
    print_report(options.format, found, _lines(found), folded=False)
    return OK


def _lines(found: dict[str, list[Json]]) -> Iterator[str]:
    """The report for a person, 80 columns wide."""
    for section, entries in found.items():
        yield section.capitalize()
        for entry in entries:
            where = f" ({entry['cluster']} cluster)" if "cluster" in entry else ""
            yield f"  {few(entry['names'], 1) if 'names' in entry else entry['name']}{where}"
            for key in ("namespace", "keys", "kinds", "notes", "needs"):
                text = entry.get(key) or []
                for each in [text] if isinstance(text, str) or key in ("keys", "kinds") else text:
                    said = each if isinstance(each, str) else ", ".join(each)
                    if said:
                        yield _WRAPPER.fill(said if key in ("needs", "notes") else f"{key}: {said}")
            if "configuration" in entry:
                yield indent(
                    yaml.safe_dump(entry["configuration"], sort_keys=False).rstrip(), " " * 6
                )
