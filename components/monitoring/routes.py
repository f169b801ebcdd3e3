"""Alerts' routes: who gets each, what one message holds, which alerts a larger one silences."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from components.making.dump import dump
from components.making.manifest import Json, Manifest, documents, fill
from components.making.told import Told
from components.monitoring.names import ROUTES, ROUTES_FILE, SECRETS_FOLDER, files, operator_object
from schemas.facts.site import Site
from schemas.model.monitoring import Monitoring, Receiver

_SPEC, _RECEIVERS = documents(__file__)
TOLD = Told(__file__)
WORDS = TOLD.table("words_of_alertmanager")
"""What Alertmanager calls fields of an AlertmanagerConfig, where more than the spelling differs."""
SITE_LABEL = "site"
"""Label of every alert of Foresite's; by it they are told from the site's own."""


class Inhibition(NamedTuple):
    """While an alert fires, others are not told. Both are regular expressions of names."""

    source: str
    target: str = ""
    """Empty: every warning. What is critical is told all the same."""
    equal: Sequence[str] = ()
    """Labels that both have, with one value."""
    of: Mapping[str, str] = MappingProxyType({})
    """A label that the source has besides, with its value."""


INHIBITIONS = [Inhibition(**each) for each in TOLD.rows("inhibitions", **TOLD.table("alerts"))]
"""Something larger first, what follows from it second."""


def routing(site: Site, monitoring: Monitoring) -> Manifest:
    """The routes, as the site's Alertmanager takes them."""
    if monitoring.prometheus_operator:
        spec = configuration(site, monitoring)
        kind = ("v1alpha1", "AlertmanagerConfig")
        return operator_object(site, monitoring, kind, ROUTES, spec)
    return files(site, monitoring, ROUTES, {ROUTES_FILE: dump(whole(site, monitoring))})


def configuration(site: Site, monitoring: Monitoring) -> Json:
    """The spec of an AlertmanagerConfig: it takes the alerts of this site alone."""
    routes = monitoring.routes
    return _filled(
        _SPEC,
        warning=routes.warning,
        critical=routes.critical,
        site=[_matcher(SITE_LABEL, "=", site.name)],
        repeat=f"{routes.repeat_hours}h",
        receivers=[_receiver(each) for each in monitoring.receivers],
        inhibitions=[
            {
                "sourceMatch": [_matcher(*each) for each in sources(inhibition)],
                "targetMatch": [_matcher(*each) for each in targets(inhibition, site.name)],
                "equal": [SITE_LABEL, *inhibition.equal],
            }
            for inhibition in INHIBITIONS
        ],
    )


def sources(inhibition: Inhibition) -> list[tuple[str, str, str]]:
    """Matchers of the alerts that silence others: label, operator, value."""
    more = [(label, "=", value) for label, value in inhibition.of.items()]
    return [("alertname", "=~", inhibition.source), *more]


def targets(inhibition: Inhibition, site: str) -> list[tuple[str, str, str]]:
    """Matchers of the alerts that are silenced; those of other sites never are."""
    target = inhibition.target
    which = ("alertname", "=~", target) if target else ("severity", "=", "warning")
    return [which, (SITE_LABEL, "=", site)]


def _matcher(name: str, how: str, value: str) -> Json:
    return {"name": name, "matchType": how, "value": value}


def _receiver(receiver: Receiver) -> Json:
    secret = {"name": receiver.secret, "key": receiver.key}
    channel = {"channel": receiver.channel} if receiver.channel else {}
    found = _filled(_RECEIVERS[receiver.kind.value], secret=secret, channel=channel)
    return {"name": receiver.name, **found}


def whole(site: Site, monitoring: Monitoring) -> Json:
    """A whole configuration: also of alerts that are not Foresite's, by their severity. It says the
    same in Alertmanager's own words."""
    spec = configuration(site, monitoring)
    del spec["route"]["matchers"]
    found: Json = _plain(spec)
    return found


def _plain(said: Any) -> Any:
    """A part of an AlertmanagerConfig as Alertmanager reads it: matchers as text, Secrets as files,
    lists of key and value as maps."""
    if isinstance(said, list):
        if said and all(isinstance(e, dict) and e.keys() == {"key", "value"} for e in said):
            return {each["key"]: each["value"] for each in said}
        return [_plain(each) for each in said]
    if not isinstance(said, dict):
        return said
    if "matchType" in said:
        return f'{said["name"]}{said["matchType"]}"{said["value"]}"'
    if said.keys() == {"name", "key"}:
        return f"{SECRETS_FOLDER}/{said['name']}/{said['key']}"
    return {
        WORDS.get(key) or re.sub("(?=[A-Z])", "_", key).lower(): _plain(each)
        for key, each in said.items()
    }


def _filled(template: Json, /, **values: Any) -> Json:
    found: Json = fill(template, values)
    return found
