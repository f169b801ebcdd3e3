"""Templates: read when a Machine is made, so a change of one does nothing by itself.

Foresite names them by their content. What follows from a new one is judged where it is referred to
(MachineDeployment, KubeadmControlPlane); ``because`` says there what differs inside.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from components.effects import Action, Effect, FieldChange, Impact, ObjectChange, Path, SiteChange
from components.effects.rules import Rule, path
from components.machines.effects import kinds
from components.machines.effects.anykind import metadata_rules, of_field, stated
from components.machines.effects.concerned import format_path, value
from components.making.manifest import GroupKind
from components.making.told import Told

TOLD = Told(__file__)
SHOWN_FIELDS = 3
_CLONED = "Cluster API v1.13.6, controllers/external/util.go (a template is copied once)"
_DATA = "CAPM3 v1.13.2, internal/webhooks/v1beta2/metal3datatemplate_webhook.go"
_CLEANING = "CAPM3 v1.13.2, baremetal/metal3machinetemplate_manager.go"
_DATA_TEMPLATE = path("spec.template.spec.dataTemplate")


@of_field
def _renaming(_site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterable[Effect]:
    """The content differs, so the name does: a second template beside the first."""
    why, action = TOLD.say("added"), Action.REPLACED
    yield Effect(Impact.NONE, change.name, field.path, why, _CLONED, action=action)


@of_field
def _content(_site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterable[Effect]:
    """A field of a template, in a new one or edited under the same name."""
    old, new = value(change.before, "metadata", "name"), value(change.after, "metadata", "name")
    if old != new:
        why = TOLD.say("part", new=new)
        yield Effect(Impact.NONE, change.name, field.path, why, _CLONED)
    elif field.path[:2] in (("spec", "metaData"), ("spec", "networkData")):
        why = "a Metal3DataTemplate cannot be changed under the same name: its webhook refuses"
        yield Effect(Impact.NONE, change.name, field.path, why, _DATA, action=Action.REFUSED)
    elif field.path[-1] == "automatedCleaningMode":
        why = "copied to the machines of the template; takes effect when their hosts are wiped next"
        yield Effect(Impact.NONE, change.name, field.path, why, _CLEANING)
    else:
        why = TOLD.say("edited")
        yield Effect(Impact.NONE, change.name, field.path, why, _CLONED)


def because(site: SiteChange, change: ObjectChange, at: Path) -> str:
    """The differences between the templates that an object's reference led to and leads to.

    ``image.url of Metal3MachineTemplate/v100 changed``: at most three fields, and those of the
    Metal3DataTemplate that a Metal3MachineTemplate names in its turn.
    """
    kind, group = (value(change.after, *at, each) for each in ("kind", "apiGroup"))
    old, new = (value(each, *at, "name") for each in change.both)
    made = template_change(site, f"{kind}.{group}", new)
    if made is None or made.before is None or value(made.before, "metadata", "name") != old:
        return f"another {kind} is referred to: {new} in place of {old}"
    fields = list(_fields(site, made))
    templates: dict[str, list[str]] = {}
    for field, template in fields[:SHOWN_FIELDS]:
        templates.setdefault(template, []).append(field)
    shown = (f"{', '.join(those)} of {template}" for template, those in templates.items())
    more = len(fields) - SHOWN_FIELDS
    return " and ".join(shown) + (f" and {more} more" if more > 0 else "") + " changed"


def template_change(site: SiteChange, kind: GroupKind, name: Any) -> ObjectChange | None:
    """The change that brought the template of a kind and name."""
    return next(
        (
            change
            for change in site.changes.values()
            if change.group_kind == kind and value(change.after, "metadata", "name") == name
        ),
        None,
    )


def _fields(site: SiteChange, change: ObjectChange) -> Iterator[tuple[str, str]]:
    """Each field that differs inside a template, and the template that it is in.

    The name counts the order of every list, also where no field differs by it.
    """
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


RULES = [
    *(Rule(kind, path("metadata.name"), _renaming) for kind in kinds.TEMPLATES),
    *(rule for kind in kinds.TEMPLATES for rule in metadata_rules(kind)),
    # The earlier of two rules for one path decides.
    *(Rule(kind, path("spec"), _content) for kind in kinds.TEMPLATES),
    *stated(__file__, cloned=_CLONED),
]
"""The rules of templates that machines are made from."""
