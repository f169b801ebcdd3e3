"""The drift of a site's clusters from Git, field by field of the objects: of those that they set,
as what controllers and the API server add is theirs."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from components.effects.vocabulary import ABSENT
from components.making.manifest import FIELD_MANAGER, Json, Manifest
from foresite.delivery.stack.live import Key
from policies import Object
from schemas.kubernetes.masking import shorten

HAS, NEVER = "has it", "never got it"
"""Words for an object that one side has, and for one that was never applied."""
_SHOWN = 80
"""Characters of a value."""

Path_ = tuple[str | int, ...]


class Difference(NamedTuple):
    """A field of an object that is not as Git says, and the field manager that last wrote it; empty
    ``field``: the whole object."""

    object: str
    field: str
    git: str
    cluster: str
    by: str = ""

    def __str__(self) -> str:
        by = f" (by {self.by})" if self.by else ""
        field = f"{self.field}: " if self.field else ""
        return f"{field}Git {self.git}, cluster {self.cluster}{by}"


def differences(
    wanted: Mapping[Key, Manifest], live: Mapping[Key, Json | None]
) -> Iterator[Difference]:
    """The fields of the cluster that are not as Git says."""
    for key, manifest in wanted.items():
        if (found := live.get(key)) is not None:
            yield from field_differences(manifest, found)
        else:
            lost = "lost it" if key in live else NEVER
            yield Difference(Object("", manifest.body).title, "", HAS, lost)
    for key, body in live.items():
        if body is not None and key not in wanted:
            yield Difference(Object("", body).title, "", "dropped it", HAS)


def field_differences(manifest: Manifest, body: Json) -> Iterator[Difference]:
    """The fields of an object in the cluster that are not as Git says."""
    named = Object("", manifest.body).title
    for path, git, cluster in _apart(manifest.body, body):
        field = ".".join(map(str, path))
        if any(field == each or field.startswith(f"{each}.") for each in manifest.ignore):
            continue  # a controller's, once the object is there
        yield Difference(named, field, _show(git), _show(cluster), _writer(body, path))


def _apart(wanted: Any, live: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any, Any]]:
    """Each field that ``wanted`` sets and ``live`` has otherwise, or not at all."""
    if isinstance(wanted, dict) and isinstance(live, dict):
        for key, value in wanted.items():
            yield from _apart(value, live.get(key, ABSENT), (*path, key))
    elif isinstance(wanted, list) and isinstance(live, list) and len(wanted) == len(live):
        for index, value in enumerate(wanted):
            yield from _apart(value, live[index], (*path, index))
    elif wanted != live:
        yield path, wanted, live


def _show(value: Any) -> str:
    if value is ABSENT:
        return "has none"
    return shorten(value if isinstance(value, str) else json.dumps(value), _SHOWN)


def _writer(body: Json, path: Path_) -> str:
    """The field managers besides ours that own a field, as the API server keeps account of them."""
    found = []
    for entry in body["metadata"].get("managedFields", ()):
        fields: Any = entry.get("fieldsV1")
        for step in path:
            if not isinstance(step, str) or not isinstance(fields, dict):
                break  # items of a list are told apart by their content there
            fields = fields.get(f"f:{step}")
        if fields is not None and entry.get("manager") != FIELD_MANAGER:
            found.append(f"{entry.get('manager')}, {entry.get('time')}")
    return shorten("; ".join(found), _SHOWN)
