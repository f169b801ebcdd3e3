"""Settings that the agent applies to running hosts: which programs restart for them.

Sources: containerd 2.4.2, docs/hosts.md; Kubernetes 1.34, pkg/kubelet/kubelet.go (a kubelet
that starts admits its pods anew, HandlePodAdditions; their containers go on meanwhile).
"""

import yaml

from components.effects import Effects, Field, Impact, ObjectChange, SiteChange, kinds
from components.effects.kubernetes import RULES as KUBERNETES
from components.effects.rules import Judge, narrow
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
        words = _words(settings) or [TOLD.say("nothing")]
        impact, why = Impact.IN_PLACE, TOLD.say("applied", words="; ".join(words))
        was, now = (_most_pods(each) for each in settings.both)
        if was is not None and now is not None and now < was:
            impact, why = Impact.UNKNOWN, f"{why}; {TOLD.say('fewer')}"
        yield each._replace(impact=impact, why=why, source=_SOURCE)


def _settings(site: SiteChange, change: ObjectChange) -> ObjectChange | None:
    """The change of the settings that the pods of an agent's DaemonSet apply; None of others."""
    name = f"ConfigMap/{change.one.name.partition('/')[2]}"
    found = site.changes.get((change.name[0], name))
    return found if found and found.before and found.after else None


def _words(settings: ObjectChange) -> list[str]:
    """What the settings that differ do, each said once, as apply.sh finds them: by the content of a
    file on the host, whatever number it has here."""
    before, after = (_parts(each) for each in (settings.before, settings.after))
    every = dict.fromkeys((*before, *after))
    return [TOLD.say(part) for part in every if before.get(part) != after.get(part)]


def _parts(settings: Manifest | None) -> dict[str, dict[str, str]]:
    """The files of a host by the part that they belong to, and the agent's scripts."""
    data: Json = settings.body["data"] if settings else {}
    found: dict[str, dict[str, str]] = {"program": {k: data[k] for k in data if k[-3:] == ".sh"}}
    for line in data.get("index", "").splitlines():
        part, key, path = line.split()
        found.setdefault(part, {})[path] = data[key]
    if TIME_SERVERS in data:
        found[InPlace.TIME_SERVERS] = {TIME_SERVERS: data[TIME_SERVERS]}
    return found


def _most_pods(settings: Manifest | None) -> int | None:
    (text,) = _parts(settings).get(InPlace.KUBELET, {"": ""}).values()
    return (yaml.safe_load(text) or {}).get("maxPods")


RULES = narrow(KUBERNETES, {kinds.DAEMON_SET: _applied})
