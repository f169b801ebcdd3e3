"""Everything that a preview found, as JSON for programs.

Paths of fields are lists of steps, as keys may hold dots. A side that a field does not have is left
out. ``entries`` name the sites to which the same happens; ``sites`` have everything on each.
"""

import json
from typing import Any

from components.effects.vocabulary import ABSENT, Effect, FieldChange, PoolPlan
from preview.report.headline import headline
from preview.report.phrase import plain
from preview.report.words import CHECKED, NOT_KNOWN, members
from preview.result import Cause, Growth, ObjectVerdict, Preview, Reason, SitePreview

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
        "counts": {impact.value: number for impact, number in site.counts().items()},
        "problems": [problem.as_dict() for problem in site.problems],
        "hosts": [host._asdict() | {"reasons": list(host.reasons)} for host in site.hosts],
        "reasons": [_reason(reason) for reason in site.reasons],
        "objects": [_object(each) for each in site.objects],
        "plans": [_plan(plan) for plan in site.plans],
        "capacity": [ledger._asdict() for ledger in site.capacity],
        "deletions": [{"what": each.what, "count": each.count} for each in site.deletions],
        "cache": site.cache._asdict() if site.cache else None,
        "consequences": [each._asdict() for each in site.consequences],
        "services": [each._asdict() for each in site.services],
        "waiting": site.waiting,
        "growth": _growth(site.growth) if site.growth else None,
        "guaranteed": dict(site.guaranteed),
        "installations": [each._asdict() for each in site.installations],
    }


def _growth(growth: Growth) -> Json:
    return growth._asdict() | {"swollen": [each._asdict() for each in growth.swollen]}


def _reason(reason: Reason) -> Json:
    return {
        **_effect(reason.effect),
        "object": reason.object,
        "causes": [_cause(cause) for cause in reason.causes],
    }


def _effect(effect: Effect) -> Json:
    """An effect; its hosts are those that have the reason's index among theirs."""
    return {
        "impact": effect.impact.value,
        "component": effect.name[0],
        "name": effect.name[1],
        "path": list(effect.path),
        "why": effect.why,
        "source": effect.source,
        "hosts": len(effect.hosts),
        "at_most": effect.at_most,
        "together": effect.together,
        "waits": effect.waits,
        "way": effect.way,
        "action": effect.action.value if effect.action else None,
    }


def _cause(cause: Cause) -> Json:
    return cause._asdict()


def _object(each: ObjectVerdict) -> Json:
    api, kind, namespace, name = each.change.one.key
    return {
        "component": each.change.component,
        "name": each.change.one.name,
        "object": {"apiVersion": api, "kind": kind, "namespace": namespace, "name": name},
        "target": each.change.one.target.value,
        "action": each.action.value,
        "reasons": list(each.reasons),
        "fields": [_field(field) for field in each.change.fields],
    }


def _field(field: FieldChange) -> Json:
    sides = {"before": field.before, "after": field.after}
    return {"path": list(field.path)} | {k: v for k, v in sides.items() if v is not ABSENT}


def _plan(plan: PoolPlan) -> Json:
    return plan._asdict() | {"out": plan.out._asdict(), "notes": list(plan.notes)}
