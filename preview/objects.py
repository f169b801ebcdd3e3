"""The objects of sites as lines of JSON: how the code of another state hands over what it makes.

``python -m preview.objects FOLDER SITE...`` prints a line a site. The form is kept from version to
version, as the reader and the writer are not of one state: fields may be added, none changes.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from components.effects.vocabulary import Name
from components.making.manifest import Manifest, Target
from components.site import objects_by_name
from schemas.load import load
from schemas.reading.bounded import parse_json

Objects = Mapping[Name, Manifest]


def lines(folder: Path, names: Iterable[str]) -> Iterator[str]:
    """A line for each site of a folder; without objects where the site has problems."""
    for name in names:
        loaded = load(folder, [name], ())[name]
        every = objects_by_name(loaded.site).items() if loaded.site else ()
        made = [{"component": component, **each._asdict()} for (component, _), each in every]
        yield json.dumps({"site": name, "objects": made if loaded.site else None})


def parse(text: str) -> dict[str, Objects]:
    """The objects that ``lines`` wrote: those of each site without problems. Raises ValueError."""
    found: dict[str, Objects] = {}
    for line in text.splitlines():
        said = parse_json(line)
        if said["objects"] is not None:
            found[said["site"]] = dict(map(_object, said["objects"]))
    return found


def _object(said: Mapping[str, object]) -> tuple[Name, Manifest]:
    fields = {name: said[name] for name in Manifest._fields}
    fields["target"] = Target(str(fields["target"]))
    fields["ignore"] = tuple(fields["ignore"])  # type: ignore[arg-type]  # a list of texts
    manifest = Manifest(**fields)  # type: ignore[arg-type]  # as they were written
    return (str(said["component"]), manifest.name), manifest


if __name__ == "__main__":
    for written in lines(Path(sys.argv[1]), sys.argv[2:]):
        print(written)
