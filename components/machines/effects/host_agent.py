"""Settings that the agent applies to running hosts: which programs restart for them.

Sources: containerd 2.4.2, docs/hosts.md; Kubernetes 1.34, pkg/kubelet/kubelet.go (a kubelet
that starts admits its pods anew, HandlePodAdditions; their containers go on meanwhile).
"""

import yaml

from components.effects import kinds
from components.effects.kubernetes import RULES as KUBERNETES
from components.effects.rules import Judge, narrow
from components.effects.vocabulary import Effects, Field, Impact, ObjectChange, SiteChange
from components.machines.host_agent import TIME_SERVERS
from components.making.manifest import CONFIGURATION_ANNOTATION, Json, Manifest
from components.making.told import Told
from schemas.model.host_agent import InPlace

TOLD = Told(__file__)
_SOURCE = "foresite, components/machines/apply.sh; Kubernetes 1.34, pkg/kubelet/kubelet.go"


def _applied(judge: Judge, site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """``judge`` for the agent's DaemonSets: what its new pods do to their hosts."""
    configured = field is not None and field.path[-1:] == (CONFIGURATION_ANNOTATION,)
    settings = _settings(site, change) if configured else None
    for each in judge(site, change, field):
        if settings is None or each.impact is not Impact.POD_RESTART:
            yield each
            continue
        impact, why = Impact.IN_PLACE, TOLD.say("applied", words="; ".join(_words(settings)))
        if _fewer_pods(settings):
            impact, why = Impact.UNKNOWN, f"{why}; {TOLD.say('fewer')}"
        yield each._replace(impact=impact, why=why, source=_SOURCE)


def _settings(site: SiteChange, change: ObjectChange) -> ObjectChange | None:
    """The change of the settings that the pods of an agent's DaemonSet apply; None of others."""
    name = f"ConfigMap/{change.one.name.partition('/')[2]}"
    found = site.changes.get((change.name[0], name))
    return found if found and found.before and found.after else None


def _words(settings: ObjectChange) -> dict[str, None]:
    """What the settings that differ do, each said once."""
    found: dict[str, None] = {}
    for field in settings.fields:
        key = str(field.path[1]) if field.path[0] == "data" and len(field.path) > 1 else ""
        part = "time_servers" if key == TIME_SERVERS else key.rpartition("-")[0]
        if part in set(InPlace):
            found[TOLD.say(part)] = None
        elif key.endswith(".sh"):
            found[TOLD.say("program")] = None
    return found


def _fewer_pods(settings: ObjectChange) -> bool:
    before, after = (_most_pods(each) for each in (settings.before, settings.after))
    return before is not None and after is not None and after < before


def _most_pods(settings: Manifest | None) -> int | None:
    data: Json = settings.body["data"] if settings else {}
    text = next((each for key, each in data.items() if key.startswith(InPlace.KUBELET)), "")
    return (yaml.safe_load(text) or {}).get("maxPods")


RULES = narrow(KUBERNETES, {kinds.DAEMON_SET: _applied})
