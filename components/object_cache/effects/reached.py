"""Effects on how the cache is reached, and on the rights of its servers."""

from components.effects import Action, Effects, Field, ObjectChange, Side, SiteChange, resources
from components.effects.applying import former
from components.effects.rules import Judge, make_known
from components.effects.table import read_kinds
from components.making.told import Told
from components.object_cache.effects.section import cache_of
from components.object_cache.names import COMPONENT, SERVER
from schemas.kubernetes.bodies import mapping

TOLD = Told(__file__)
_SAME_ZONE = {"PreferClose", "PreferSameZone"}


def same_zone(_site: SiteChange, _change: ObjectChange, field: Field) -> bool:
    """True if both names mean one thing: the Envoys that a pod's connections go to."""
    return field is not None and {field.before, field.after} == _SAME_ZONE


def named_port(_site: SiteChange, _change: ObjectChange, field: Field) -> dict[str, str]:
    """The name of a port: it is each pod's own; one by its number is asked at once, and each pod
    listens there after its restart."""
    named = field and field.path[-1] == "targetPort" and isinstance(field.after, str)
    return {"port": field.after} if field and named else {}


def in_dns(_site: SiteChange, change: ObjectChange, _field: Field) -> bool:
    """True for the Service that only gives servers a name in DNS, where nobody asks for a port."""
    return mapping(change.one.body, "spec").get("clusterIP") == "None"


def replacement(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """A replaced Service, under another name or with another address."""
    name = "renamed" if former(change).key != change.one.key else "replaced"
    if in_dns(site, change, field):
        name = "renamed_in_dns"
    elif any((cache := cache_of(each)) and cache.image_layers for each in site.sides):
        name += "_with_layers"
    yield from TABLE.judges[name](site, change, field)


TABLE = read_kinds(vars(resources) | globals())
_SERVICE = resources.TABLE.kind("Service")
SERVICES = _SERVICE._replace(
    gone=TABLE.judges["removal"],
    fields=(
        *_SERVICE.fields,
        ("spec.ports", TABLE.judges["ports"]),
        ("spec.trafficDistribution", TABLE.judges["distribution"]),
    ),
    replaced=replacement,
)
(BUDGETS,) = TABLE.kinds
"""The rules of Kubernetes' Services and budgets, with what these of the cache mean."""


def once_given(judge: Judge, site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """``judge`` for a Service: under another name it is made before the old one is deleted, and one
    address is given to one Service at a time."""
    for each in judge(site, change, field):
        address = _fixed_address(change) if each.action is Action.REPLACED else ""
        if address:
            why = TOLD.say("address_twice", address=address)
            each = each._replace(why=why, source=TOLD.say("addresses"), action=Action.REFUSED)
        yield each


def _fixed_address(change: ObjectChange) -> str:
    """The fixed address that a Service has under both names; empty where there is none."""
    both = former(change), change.one
    old, new = (mapping(each.body, "spec").get("clusterIP") for each in both)
    kept = both[0].key != both[1].key and old == new
    return str(new) if kept and new not in (None, "None") else ""


def of_servers(judge: Judge, site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """``judge`` for rights: nobody loses what only the servers had, where every one of them goes as
    well, or is made anew in another namespace."""
    before, after = _servers(site.before), _servers(site.after)
    leave = bool(before) and before.isdisjoint(after)
    return make_known(judge(site, change, field), TOLD.say("with_them") if leave else "")


def _servers(side: Side | None) -> set[tuple[str, str, str, str]]:
    return {
        manifest.key
        for (component, name), manifest in (side.objects.items() if side else ())
        if component == COMPONENT and name.startswith(f"DaemonSet/{SERVER}/")
    }
