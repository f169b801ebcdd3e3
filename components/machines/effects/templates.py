"""Templates: read when a Machine is made, so a change of one does nothing by itself.

Foresite names them by their content. What follows from a new one is judged where it is referred to
(MachineDeployment, KubeadmControlPlane); ``because`` says there what differs inside.
"""

from collections.abc import Iterator
from typing import Any

from components.effects import FieldChange, ObjectChange, Path, SiteChange
from components.effects.rules import path
from components.machines.effects import kinds
from components.machines.effects.anykind import machine_kinds, machine_rules
from components.machines.effects.concerned import format_path, value
from components.making.manifest import GroupKind
from schemas.kubernetes.grouping import group_by_key

SHOWN_FIELDS = 3
_DATA_TEMPLATE = path("spec.template.spec.dataTemplate")


def in_a_new_one(_site: SiteChange, change: ObjectChange, _field: FieldChange) -> dict[str, Any]:
    """The name of the new template that a field is part of; nothing where the name stays."""
    old, new = value(change.before, "metadata", "name"), value(change.after, "metadata", "name")
    return {"new": new} if old != new else {}


def because(site: SiteChange, change: ObjectChange, at: Path) -> str:
    """The differences between the templates that an object's reference led to and leads to, as
    ``image.url of Metal3MachineTemplate/v100 changed``: at most three fields, and those of the
    Metal3DataTemplate that a Metal3MachineTemplate names."""
    kind, group = (value(change.after, *at, each) for each in ("kind", "apiGroup"))
    old, new = (value(each, *at, "name") for each in change.both)
    made = template_change(site, f"{kind}.{group}", new)
    if made is None or made.before is None or value(made.before, "metadata", "name") != old:
        return f"another {kind} is referred to: {new} in place of {old}"
    fields = list(_fields(site, made))
    templates = group_by_key((template, field) for field, template in fields[:SHOWN_FIELDS])
    shown = (f"{', '.join(those)} of {template}" for template, those in templates.items())
    more = len(fields) - SHOWN_FIELDS
    return " and ".join(shown) + (f" and {more} more" if more > 0 else "") + " changed"


def template_change(site: SiteChange, kind: GroupKind, name: Any) -> ObjectChange | None:
    """The change that brought the template of a kind and name."""
    mine = (each for each in site.changes.values() if each.group_kind == kind)
    return next((each for each in mine if value(each.after, "metadata", "name") == name), None)


def _fields(site: SiteChange, change: ObjectChange) -> Iterator[tuple[str, str]]:
    """Each field that differs inside a template, and the template that it is in. The name counts
    the order of every list, also where no field differs by it."""
    inside = [field for field in change.fields if field.path[0] == "spec"]
    if not inside:
        yield "the order", change.one.name
    for field in inside:
        inner = None
        if field.path == (*_DATA_TEMPLATE, "name"):
            inner = template_change(site, kinds.DATA_TEMPLATE, field.after)
        if inner is not None and inner.before is not None:
            yield from _fields(site, inner)
        else:
            yield format_path(field.path).removeprefix("spec.template.spec."), change.one.name


RULES = machine_rules(*machine_kinds(globals()).kinds)
"""The rules of templates that machines are made from."""
