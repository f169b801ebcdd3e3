"""Everything that a preview found, as JSON for programs.

Paths of fields are lists of steps, as keys may hold dots. A side that a field does not have is left
out. ``entries`` name the sites to which the same happens; ``sites`` have everything on each.
"""

import json
from typing import Any

from components.effects.vocabulary import ABSENT, FieldChange
from preview.report.headline import headline
from preview.report.phrase import plain
from preview.report.words import CHECKED, NOT_KNOWN, members
from preview.result import ObjectVerdict, Preview, Reason, SitePreview

VERSION = 1
"""Grows when a field goes or changes its meaning; new fields may come at any time."""

Json = dict[str, Any]


def render(preview: Preview) -> str:
    """The document's text on one line: the same bytes for the same preview."""
    # Indenting is done in Python and takes ten times as long.
    return json.dumps(_preview(preview), separators=(",", ":"), default=str) + "\n"


def _preview(preview: Preview) -> Json:
    return {
        "version": VERSION,
        "headline": plain(headline(preview)),
        "impact": preview.impact.value,
        "certain": preview.certain,
        "base": preview.base,
        "head": preview.head,
        "code": preview.code,
        "code_changed": list(preview.code_changed),
        "sites_total": preview.sites_total,
        "regions": [each._asdict() for each in preview.regions],
        "gates": [gate._asdict() for gate in preview.gates],
        "allowed": dict(sorted(preview.allowed.items())),
        "nodes": {
            site: {"number": number, "when": when}
            for site, (number, when) in sorted(preview.nodes.items())
        },
        "clashes": [problem.as_dict() for problem in preview.clashes],
        "entries": [
            {"sites": list(entry.sites), "shown": entry.site.name} for entry in preview.entries
        ],
        "sites": [_site(site) for entry in preview.entries for site in members(entry)],
        "checked": {"offline": [*CHECKED], "servers_asked": [], "not_known": [*NOT_KNOWN]},
    }


def _site(site: SitePreview) -> Json:
    return {
        "name": site.name,
        "state": site.state.value,
        "impact": site.impact.value,
        "patches": site.patches,
        "counts": {impact.value: number for impact, number in site.counts.items()},
        "problems": [problem.as_dict() for problem in site.problems],
        "hosts": [host._asdict() for host in site.hosts],
        "reasons": [_reason(reason) for reason in site.reasons],
        "objects": [_object(each) for each in site.objects],
        "plans": _map(site.plans),
        "capacity": _map(site.capacity),
        "deletions": [{"what": each.what, "count": each.count} for each in site.deletions],
        **{name: _map(getattr(site, name)) for name in ("cache", "consequences", "services")},
        "waiting": site.waiting,
        "growth": _map(site.growth),
        "guaranteed": dict(site.guaranteed),
        "installations": _map(site.installations),
    }


def _reason(reason: Reason) -> Json:
    """A reason; the hosts of its effect are those that have the reason's index among theirs."""
    effect = reason.effect
    return {
        "impact": effect.impact.value,
        "component": effect.name[0],
        "name": effect.name[1],
        "path": effect.path,
        "why": effect.why,
        "source": effect.source,
        "hosts": len(effect.hosts),
        "at_most": effect.at_most,
        "together": effect.together,
        "waits": effect.waits,
        "way": effect.way,
        "action": effect.action.value if effect.action else None,
        "object": reason.object,
        "causes": [cause._asdict() for cause in reason.causes],
    }


def _map(value: Any) -> Any:
    """A named tuple as a map, and so those in it; anything else as it is."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _map(each) for name, each in value._asdict().items()}
    return [*map(_map, value)] if isinstance(value, tuple) else value


def _object(each: ObjectVerdict) -> Json:
    api, kind, namespace, name = each.change.one.key
    return {
        "component": each.change.component,
        "name": each.change.one.name,
        "object": {"apiVersion": api, "kind": kind, "namespace": namespace, "name": name},
        "target": each.change.one.target.value,
        "action": each.action.value,
        "reasons": each.reasons,
        "fields": [_field(field) for field in each.change.fields],
    }


def _field(field: FieldChange) -> Json:
    sides = {"before": field.before, "after": field.after}
    return {"path": field.path} | {k: v for k, v in sides.items() if v is not ABSENT}
