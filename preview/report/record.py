"""Everything that a preview found, as JSON for programs.

Paths of fields are lists of steps, as keys may hold dots. A side that a field does not have is left
out. ``entries`` name the sites to which the same happens; ``sites`` have everything on each.
"""

import json
from dataclasses import asdict
from typing import Any

from components.effects.vocabulary import ABSENT
from preview.report.headline import headline
from preview.report.phrase import plain
from preview.report.words import CHECKED, NOT_KNOWN
from preview.result import ObjectVerdict, Preview, Reason, SitePreview
from schemas.kubernetes.tables import read_table
from schemas.model.problem import Problem

VERSION = 1
"""Grows when a field goes or changes its meaning; new fields may come at any time."""

Json = dict[str, Any]


def render(preview: Preview) -> str:
    """The document's text on one line: the same bytes for the same preview."""
    # Indenting is done in Python and takes ten times as long.
    return json.dumps(_preview(preview), separators=(",", ":"), default=str) + "\n"


_OF = read_table(__file__)


def _preview(preview: Preview) -> Json:
    nodes = sorted(preview.nodes.items())
    own = {
        "version": VERSION,
        "headline": plain(headline(preview)),
        "allowed": dict(sorted(preview.allowed.items())),
        "nodes": {site: {"number": number, "when": when} for site, (number, when) in nodes},
        "entries": [{"sites": each.sites, "shown": each.site.name} for each in preview.entries],
        "sites": [*map(_site, preview.sites)],
        "checked": {"offline": CHECKED, "servers_asked": [], "not_known": NOT_KNOWN},
    }
    return _fields(_OF["preview"], preview, own)


def _site(site: SitePreview) -> Json:
    own = {
        "reasons": [_reason(reason) for reason in site.reasons],
        "objects": [_object(each) for each in site.objects],
        "deletions": [asdict(each) for each in site.deletions],
        "guaranteed": dict(site.guaranteed),
    }
    return _fields(_OF["brief" if site.brief else "site"], site, own)


def _reason(reason: Reason) -> Json:
    """A reason; the hosts of its effect are those that have the reason's index among theirs."""
    component, name = reason.effect.name
    own = {"component": component, "name": name, "hosts": len(reason.effect.hosts)}
    own |= {"object": reason.object, "causes": _plain(reason.causes)}
    return _fields(_OF["reason"], reason.effect, own)


def _fields(names: str, of: object, own: Json) -> Json:
    """The named fields of a value; those that are its ``own`` as they are said."""
    return {each: own[each] if each in own else _plain(getattr(of, each)) for each in names.split()}


def _plain(value: Any) -> Any:
    """A problem or a named tuple as a map, and so those in it; anything else as it is."""
    if isinstance(value, Problem):
        return value.as_dict()
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _plain(each) for name, each in value._asdict().items()}
    return [*map(_plain, value)] if isinstance(value, tuple) else value


def _object(each: ObjectVerdict) -> Json:
    api, kind, namespace, name = each.change.one.key
    fields = (e._asdict().items() for e in each.change.fields)
    return {
        "component": each.change.component,
        "name": each.change.one.name,
        "object": {"apiVersion": api, "kind": kind, "namespace": namespace, "name": name},
        "target": each.change.one.target,
        "action": each.action,
        "reasons": each.reasons,
        "fields": [{name: side for name, side in both if side is not ABSENT} for both in fields],
    }
