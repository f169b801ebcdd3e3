"""The site's cluster as a whole: namespace, endpoint and networks, and the guard of versions."""

from components.effects import Effects, Field, ObjectChange, SiteChange
from components.effects.kubernetes import RULES as KUBERNETES
from components.effects.rules import Judge, find_whole, narrow
from components.machines.effects.anykind import machine_kinds, machine_rules
from components.making.manifest import Target


def announced(site: SiteChange, _change: ObjectChange, _field: Field) -> bool:
    """True if kube-vip would follow another endpoint."""
    return any(side.fleet.endpoint_announced for side in site.sides)


def _of_the_site(judge: Judge, site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """``judge`` for namespaces: one of the site's own cluster holds no host."""
    usual = find_whole(KUBERNETES, "Namespace")
    own = field is None and change.one.target is Target.SITE and usual
    return (own.judge if own else judge)(site, change, field)


KINDS = machine_kinds(globals()).kinds
RULES = [
    *machine_rules(*(each for each in KINDS if each.name != "Namespace")),
    *narrow(machine_rules(*KINDS), {"Namespace": _of_the_site}),
]
"""The rules of what holds a site together."""
