"""Effects of changes to the schedulers: only they restart, on the control plane; jobs that run no
longer concern a scheduler."""

from collections.abc import Iterator
from functools import partial

from components.effects import Effects, Field, Impact, ObjectChange, Side, SiteChange, access, kinds
from components.effects.applying import effect, rules
from components.effects.kubernetes import RULES as KUBERNETES
from components.effects.resources import FENCED
from components.effects.rules import Judge, make_known, narrow
from components.effects.table import read_kinds
from components.effects.workloads import COLLECTED, CRON_JOBS, of_a_pod
from components.making.manifest import Manifest
from components.making.told import Told
from components.schedulers.names import COMPONENT, INSTANCE_LABEL, NAME_LABEL, SCHEDULER, run_here
from components.source import site_of
from schemas.kubernetes.bodies import items, mapping
from schemas.kubernetes.node_labels import TEAM_LABEL
from schemas.model.scheduling import Gang

TOLD = Told(__file__)
SERVER, PLUGIN, NAMES = TOLD.table("of_notes").values()


def _backend(manifest: Manifest) -> str:
    """The backend that an object is of; empty for those of the whole site."""
    return str(mapping(manifest.body, "metadata", "labels").get(INSTANCE_LABEL, ""))


def _gang(side: Side | None, name: str) -> Gang | None:
    """The gang settings of a backend on one side."""
    every = run_here(site_of(side)) if side else []
    return next((own.gang for backend, own in every if backend.name == name), None)


def _note_restarts(judge: Judge, site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """``judge`` for a scheduler's Deployment, with the effect of its pods' restart on jobs."""
    stays = change.after is not None
    waiting = TOLD.say("gangs") if _gang(site.before, _backend(change.one)) else ""
    after = TOLD.say("restarts" if stays else "ends")
    notes = "; ".join(filter(None, (after, waiting if stays else "")))
    for each in judge(site, change, field):
        restarts = each.impact is Impact.POD_RESTART and change.before is not None
        sources = f"{each.source}, {PLUGIN if waiting else SERVER}"
        yield each._replace(why=f"{each.why}; {notes}", source=sources) if restarts else each


def _add_gang_notes(judge: Judge, site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """``judge`` for a scheduler's ConfigMap, with the effect of another prefix on gangs."""
    yield from judge(site, change, field)
    name = _backend(change.one)
    old, new = (_gang(side, name) for side in (site.before, site.after))
    if field is not None and old and new and old.annotation_prefix != new.annotation_prefix:
        why = TOLD.say("no_gang", prefix=old.annotation_prefix)
        yield effect(change, field, Impact.NONE, why, NAMES)


def _moves(site: SiteChange, name: str) -> bool:
    """True if a backend's scheduler goes, or is made anew elsewhere."""
    change = site.changes.get((COMPONENT, f"Deployment/{name}"))
    if change is None or change.before is None:
        return False
    return change.after is None or change.after.key != change.before.key


def _of_scheduler(judge: Judge, site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """``judge`` for rights: nobody loses what only a scheduler had that goes, or only a plugin."""
    why = TOLD.say("with_it") if _moves(site, _backend(change.one)) else ""
    if not why and change.group_kind in (kinds.CLUSTER_ROLE, kinds.CLUSTER_ROLE_BINDING):
        why = TOLD.say("unused") if change.one.name.endswith("/plugins") else ""
    return make_known(judge(site, change, field), why)


def judges_teams(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """A policy that judges what teams create: no node, and no pod that is there."""
    found = [*_policies(site.before, change.before), *_policies(site.after, change.after)]
    of_teams = found and all(_of_teams(each) for each in found)
    yield from (TABLE.judges["later"] if of_teams else access.admission)(site, change, field)


def _policies(side: Side | None, manifest: Manifest | None) -> Iterator[Manifest]:
    """The policy that an object is, or binds."""
    if manifest is None or manifest.group_kind == kinds.POLICY:
        yield from [manifest] if manifest else []
        return
    named = mapping(manifest.body, "spec").get("policyName")
    for each in side.objects.values() if side else ():
        if each.group_kind == kinds.POLICY and each.key[3] == named:
            yield each


def _of_teams(policy: Manifest) -> bool:
    """True if a policy looks only at objects that are created in namespaces of teams."""
    spec = mapping(policy.body, "spec", "matchConstraints")
    selected = items(mapping(spec, "namespaceSelector"), "matchExpressions")
    teams = {"key": TEAM_LABEL, "operator": "Exists"} in selected
    rows = items(spec, "resourceRules")
    return teams and all(each.get("operations") == ["CREATE"] for each in rows)


def fences_schedulers(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """A NetworkPolicy that selects schedulers: nobody asks them anything but their metrics."""
    sides = [each for each in change.both if each is not None]
    chosen = [mapping(each.body, "spec", "podSelector", "matchLabels") for each in sides]
    own = all(each.get(NAME_LABEL) == SCHEDULER for each in chosen)
    yield from (TABLE.judges["own_pods"] if own else FENCED)(site, change, field)


_CANARY = partial(of_a_pod, "the canary of {} that runs stops; it does no work", COLLECTED)
TABLE = read_kinds(vars(access) | globals())
RULES = [
    *rules(*TABLE.kinds, CRON_JOBS._replace(gone=_CANARY)),
    *narrow(
        KUBERNETES,
        {
            kinds.DEPLOYMENT: _note_restarts,
            "ConfigMap": _add_gang_notes,
            **dict.fromkeys(kinds.RIGHTS, _of_scheduler),
        },
    ),
]
"""Of this component's objects; Kubernetes' own rules follow."""
