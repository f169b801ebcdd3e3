"""The KubeadmControlPlane: what replaces its machines one at a time, and what is refused.

Compared with each machine are the version, the name of its template, and the KubeadmConfigSpec that
it joined with (filters.go); the webhook lets the fields of controlplane.toml change and no others.
"""

from collections.abc import Iterable
from typing import Any

from components.effects import ABSENT, Action, Effect, FieldChange, Impact, ObjectChange, SiteChange
from components.effects.applying import effect
from components.effects.rules import path
from components.machines.effects import anykind, encryption, kinds, labels, scale
from components.machines.effects.concerned import format_path, limit_below, members, number, value
from components.machines.effects.templates import because
from components.machines.effects.versions import PREFLIGHT, parse_version
from components.making.told import Told
from schemas.kubernetes.tables import read_table

TOLD = Told(__file__)
KIND = kinds.CONTROL_PLANE
COMPARED = "Cluster API v1.13.6, controlplane/kubeadm/internal/filters.go"
WEBHOOK = "Cluster API v1.13.6, controlplane/kubeadm/internal/webhooks/kubeadmcontrolplane.go"
CONTROLLER = "Cluster API v1.13.6, controlplane/kubeadm/internal/controllers"
SCALE = f"{CONTROLLER}/scale.go"
_EXPIRY = "Cluster API v1.13.6, util/collections/machine_filters.go, ShouldRolloutBefore"
_REFERENCE = path("spec.machineTemplate.spec.infrastructureRef")
_CONFIG = path("spec.kubeadmConfigSpec")
_LISTS: dict[str, dict[str, str]] = read_table(__file__)
"""Fields of the KubeadmConfigSpec that may change."""
_BEFORE = path("spec.rollout.before")
_CERTIFICATE_DAYS = 365
"""Validity of kubeadm's certificates (kubeadm 1.34, constants.go, CertificateValidityPeriod)."""
ROLLING_FIELDS = (path("spec.version"), _REFERENCE, _CONFIG)


def _skips(change: ObjectChange) -> bool:
    """True if a minor version is left out, so that the webhook refuses the whole change."""
    was, now = (parse_version(value(each, "spec", "version")) for each in change.both)
    return bool(was) and now[1:2] >= (was[1] + 2,)


def _roll(site: SiteChange, change: ObjectChange, field: FieldChange, what: str) -> Effect:
    """The control plane's machines are replaced, because of ``what``."""
    sides = [value(each, *_CONFIG, "clusterConfiguration") for each in change.both]
    lost = sides[0] is not ABSENT and sides[1] is ABSENT
    if lost or _skips(change):
        what = "take clusterConfiguration away" if lost else "leave out a minor version"
        why = f"the webhook refuses to {what}, and with it all of this change"
        return effect(change, field, Impact.NONE, why, WEBHOOK, Action.REFUSED)
    hosts, at_most = scale.staying_machines(site, change)
    surge = value(change.after, *path("spec.rollout.strategy.rollingUpdate.maxSurge"))
    first = "a new one on a free host first" if surge in (1, ABSENT) else "an old one goes first"
    why = f"{what}, so Cluster API replaces the control plane's machines one at a time, {first}"
    why += _again(change) + encryption.content(change)
    return effect(change, field, Impact.REIMAGE, why, COMPARED, hosts=hosts, at_most=at_most)


def _again(change: ObjectChange) -> str:
    """When Cluster API replaces the machines of its own accord; Git does not know the date."""
    days = number(change.after, *_BEFORE, "certificatesExpiryDays")
    later = f"; each is replaced again {_CERTIFICATE_DAYS - days} days after its installation"
    return f"{later}, before its certificates end" if days else ""


def before(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterable[Effect]:
    """Another time before the end of certificates: an earlier one may have come already."""
    was, now = (number(each, *_BEFORE, "certificatesExpiryDays") for each in change.both)
    if now <= was:
        why = "machines are replaced later than before, or not before their certificates end"
        return [effect(change, field, Impact.NONE, why, _EXPIRY)]
    found = _roll(site, change, field, f"certificates end within {now} days")
    why = TOLD.say("certificates", days=_CERTIFICATE_DAYS - now)
    most = len(found.hosts) if found.at_most is None else found.at_most
    return [found._replace(why=why, source=_EXPIRY, at_most=most)]


def rollout_request(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterable[Effect]:
    """A rollout that is asked for."""
    return [_roll(site, change, field, anykind.rollout_words(change, field))]


def has_before(_site: SiteChange, change: ObjectChange, field: FieldChange) -> bool:
    """True of a rollout that comes as a whole, with ``before`` in it."""
    return field.path == anykind.ASKED[:2] and value(change.after, *_BEFORE) is not ABSENT


def config(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterable[Effect]:
    """A field that every machine is compared by."""
    found = _roll(site, change, field, f"{format_path(field.path)} changed")
    first = value(change.after, *_CONFIG, "initConfiguration")
    join = value(change.after, *_CONFIG, "joinConfiguration")
    if field.path[2] == "joinConfiguration" and first != join:
        why = f"{found.why}; the machine that ran kubeadm init, if it still is there, may stay"
        found = found._replace(why=why)
    if field.path[2] == "files" and encryption.unreadable(change):
        why = f"{found.why}; meanwhile {encryption.UNREADABLE}"
        found = found._replace(impact=Impact.UNKNOWN, why=why, source=encryption.SOURCE)
    yield found


def cluster(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterable[Effect]:
    """The ClusterConfiguration as a whole: what comes is judged by its fields; that all of it goes
    is a change that the webhook does not list."""
    known = set(_LISTS["mutable"]["spec.kubeadmConfigSpec.clusterConfiguration"].split())
    if field.before is ABSENT and isinstance(field.after, dict) and set(field.after) <= known:
        yield _roll(site, change, field, f"{format_path(field.path)} is new")
    else:
        yield from TABLE.judges["refused"](site, change, field)


def init(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterable[Effect]:
    """A field that only ``kubeadm init`` reads: its machine is taken to be up to date while what it
    was made with equals the joinConfiguration."""
    made = value(change.before, *_CONFIG, "initConfiguration")
    if made == value(change.after, *_CONFIG, "joinConfiguration"):
        why = "kubeadm init alone reads it; machines that joined are compared by joinConfiguration"
        return [effect(change, field, Impact.NONE, why, COMPARED)]
    found = _roll(site, change, field, f"{format_path(field.path)} changed")
    why = "kubeadm init alone reads it: the machine that ran it is replaced, if it still is there"
    return [found._replace(why=why, at_most=limit_below(found.hosts, 1))]


def reference(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterable[Effect]:
    """Another template."""
    yield _roll(site, change, field, because(site, change, _REFERENCE))


def version(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterable[Effect]:
    """One minor up at most; the way back is refused by nobody."""
    found = _roll(site, change, field, f"the version goes from {field.before} to {field.after}")
    was, now = parse_version(field.before), parse_version(field.after)
    if _skips(change):
        why = f"the webhook refuses {field.after} after {field.before}: one minor version at a time"
        yield found._replace(why=why)
    elif now[:2] < was[:2]:
        why = TOLD.say("way_back", before=field.before, after=field.after)
        yield found._replace(impact=Impact.UNKNOWN, why=why, source=WEBHOOK)
    elif now[:2] > was[:2] and _lagging(site, now[:2]):
        why = TOLD.say("versions_apart", why=found.why)
        yield found._replace(why=why, source=f"{COMPARED}; {PREFLIGHT}")
    else:
        yield found


def _lagging(site: SiteChange, minor: tuple[int, ...]) -> bool:
    """True if some worker pool stays at another minor version."""
    at, every = path("spec.template.spec.version"), site.after.objects if site.after else {}
    found = (each for each in every.values() if each.group_kind == kinds.DEPLOYMENT)
    return any(parse_version(value(each, *at))[:2] != minor for each in found)


def added(site: SiteChange, change: ObjectChange, _field: None) -> Iterable[Effect]:
    """The first machines."""
    hosts = members(site.after, change)
    why = "its machines are installed one after the other, the first with kubeadm init"
    most = limit_below(hosts, number(change.after, "spec", "replicas"))
    yield effect(change, None, Impact.ADD, why + _again(change), SCALE, hosts=hosts, at_most=most)


TABLE = anykind.machine_kinds(vars(labels) | vars(scale) | globals())
_FIELDS: list[tuple[str, Any]] = [
    (f"{at}.{each}", judge)
    for name, judge in (("mutable", config), ("first_only", init))
    for at, fields in _LISTS[name].items()
    for each in fields.split()
]
RULES = anykind.machine_rules(
    *(each._replace(fields=(*each.fields, *_FIELDS)) for each in TABLE.kinds)
)
"""The rules of the control plane."""
