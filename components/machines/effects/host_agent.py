"""Settings that the agent applies to running hosts: which programs restart for them.

Sources: containerd 2.4.2, docs/hosts.md; Kubernetes 1.34, pkg/kubelet/kubelet.go (a kubelet
that starts admits its pods anew, HandlePodAdditions; their containers go on meanwhile).
"""

from collections.abc import Iterator

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
    settings = site.changes.get((change.name[0], f"ConfigMap/{change.one.name.partition('/')[2]}"))
    for each in judge(site, change, field):
        told = configured and settings and each.impact is Impact.POD_RESTART
        if not told or settings is None or None in (settings.before, settings.after):
            yield each
            continue
        words = dict.fromkeys(_words(settings))
        why = TOLD.say("applied", words="; ".join(words))
        impact = Impact.IN_PLACE
        if _fewer_pods(settings):
            impact, why = Impact.UNKNOWN, f"{why}; {TOLD.say('fewer')}"
        yield each._replace(impact=impact, why=why, source=_SOURCE)


def _words(settings: ObjectChange) -> Iterator[str]:
    for field in settings.fields:
        key = str(field.path[1]) if field.path[:1] == ("data",) and len(field.path) > 1 else ""
        part = "time_servers" if key == TIME_SERVERS else key.rpartition("-")[0]
        if part in set(InPlace):
            yield TOLD.say(part)
        elif key.endswith(".sh"):
            yield TOLD.say("program")


def _fewer_pods(settings: ObjectChange) -> bool:
    before, after = (_most_pods(each) for each in (settings.before, settings.after))
    return before is not None and after is not None and after < before


def _most_pods(settings: Manifest | None) -> int | None:
    data: Json = settings.body["data"] if settings else {}
    text = next((each for key, each in data.items() if key.startswith(InPlace.KUBELET)), "")
    return (yaml.safe_load(text) or {}).get("maxPods")


RULES = narrow(KUBERNETES, {kinds.DAEMON_SET: _applied})
