"""What adopting a cluster does to its machines, by the rules of the preview: it has to be nothing.
One side are the live objects, as far as the site says something of them (the rest stays under
server-side apply), the other are the site's own."""

from collections.abc import Iterator
from typing import NamedTuple

from components.effects.vocabulary import ABSENT, Impact
from components.machines.effects.concerned import format_path
from components.machines.fleet import side_of
from components.making.manifest import Json, Manifest, Target
from components.site import objects_by_name
from foresite.adoption.bundle import Bundle
from foresite.command import few
from preview.differences.compare import compare
from preview.verdict.judge import judge
from schemas.facts.adopted import KINDS
from schemas.facts.site import Site
from schemas.kubernetes.masking import shorten


class Judged(NamedTuple):
    """``wrong`` are the differences that keep the cluster from being adopted; ``in_place`` those
    that reach no machine, ``added`` the objects that are new."""

    hosts: int
    wrong: list[str]
    in_place: list[str]
    added: list[str]


def judge_adoption(bundle: Bundle, site: Site) -> Judged:
    """The differences between the live objects and the site's."""
    made = objects_by_name(site)
    live = {name: each for name, each in ((n, _live(bundle, m)) for n, m in made.items()) if each}
    change = compare(site.name, side_of(site, live), side_of(site, made))
    found = judge(change, {}, {})
    hit = [each for each in found.reasons if each.effect.impact is not Impact.NONE]
    wrong = [f"{e.effect.impact.value}: {e.object}: {e.effect.why}" for e in hit]
    added, in_place = list[str](), dict[str, list[str]]()
    for one in change.changes.values():
        if one.before is None:
            added.append(one.one.title)
            wrong += [f"{one.one.title} is not in the bundle"] * (one.kind in KINDS)
        for field in one.fields:
            values = f"{_short(field.before)} -> {_short(field.after)}"
            if one.kind in KINDS and field.path[0] == "spec":
                wrong.append(f"{one.one.title} {format_path(field.path)}: {values}")
            else:
                in_place.setdefault(f"{one.kind} {format_path(field.path)}", []).append(values)
    alike = [f"{at}: {few(list(dict.fromkeys(v)), 1)} ({len(v)})" for at, v in in_place.items()]
    return Judged(len(found.hosts), wrong, alike, added)


def _short(value: object) -> str:
    return "absent" if value is ABSENT else shorten(str(value), 60)


def _live(bundle: Bundle, made: Manifest) -> Manifest | None:
    """The live object, with the fields that the site says; None where there is none."""
    if made.target is Target.SITE:
        return made  # the site's own cluster is not looked at: its context is not set yet
    body = bundle.get(made.kind, made.key[3])
    if body is None or made.key[2] not in ("", bundle.namespace):
        return None
    return made._replace(body=dict(_said(made.body, body)))


def _said(made: Json, live: Json) -> Iterator[tuple[str, object]]:
    for key, value in made.items():
        if isinstance(value, dict) and isinstance(live.get(key), dict):
            yield key, dict(_said(value, live[key]))
        elif key in live:
            yield key, live[key]
