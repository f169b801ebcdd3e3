"""Effects on repairs when one of their programs restarts, goes, or loses its rights.

Sources: node_repair/decide.py (a round remembers nothing);
pfnet-research/node-operation-controller 0ac94deb (its state is in its objects alone).
"""

from collections.abc import Iterator

from components.effects import Effects, Field, Impact, Name, ObjectChange, Side, SiteChange, kinds
from components.effects.rules import Judge, make_known, say_more
from components.making.faults import FAULTY_TAINT
from components.making.told import Told
from components.remediation.names import NAME_LABEL, REBOOTS
from schemas.kubernetes.bodies import mapping

_SAID = Told(__file__).table("words", taint=FAULTY_TAINT)
_USERS = (kinds.DEPLOYMENT, kinds.DAEMON_SET)
_SOURCE = "foresite, components/remediation"
_OPERATION = "NodeOperationTemplate.nodeops.k8s.preferred.jp"


def note_restarts(judge: Judge, site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """``judge`` for a Deployment, with the effect of its pods' restart or end on repairs."""
    words = _words(change) if change.before is not None else ""
    return say_more(judge(site, change, field), words, _SOURCE, Impact.POD_RESTART)


def _words(change: ObjectChange) -> str:
    if change.after is None:
        return str(_SAID.get(f"{change.one.key[3]}_ends", _SAID["others_end"]))
    moved = change.before is not None and change.before.key != change.after.key
    return str(_SAID["twice" if moved else "waits"])


def of_a_program(judge: Judge, site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """``judge`` for rights: nobody loses what only a program had that goes, or is created again."""
    program = mapping(change.one.body, "metadata", "labels").get(NAME_LABEL)
    users = list(_users(site.before, str(program))) if program else []
    # All users of the object's rights go, or are made anew elsewhere.
    goes = bool(users) and all(_goes(site, name) for name in users)
    return make_known(judge(site, change, field), _SAID["with_it"] if goes else "")


def _users(side: Side | None, program: str) -> Iterator[Name]:
    """The objects whose pods use a program's rights: of the reboots these are made at run time."""
    for name, manifest in side.objects.items() if side else ():
        if program == REBOOTS and manifest.group_kind == _OPERATION:
            yield name
        names = mapping(manifest.body, "metadata", "labels")
        if manifest.group_kind in _USERS and names.get(NAME_LABEL) == program:
            yield name


def _goes(site: SiteChange, name: Name) -> bool:
    change = site.changes.get(name)
    if change is None or change.before is None:
        return False
    if change.after is None or change.after.key != change.before.key:
        return True
    job = ("spec", "template", "spec", "jobTemplate", "metadata", "namespace")
    return any(field.path == job for field in change.fields)
