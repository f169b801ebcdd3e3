"""The KubeadmControlPlane: what replaces its machines one at a time, and what is refused.

Compared with each machine are the version, the name of its template, and the KubeadmConfigSpec that
it joined with (filters.go); the webhook lets the fields in ``_MUTABLE`` change and no others.
"""

from collections.abc import Iterator

from components.effects import ABSENT, Action, Effect, FieldChange, Impact, ObjectChange, SiteChange
from components.effects.rules import Rule, path
from components.machines.effects import encryption, kinds
from components.machines.effects.anykind import (
    ASKED,
    asked,
    metadata_rules,
    of_field,
    removal,
    removal_action,
    stated,
)
from components.machines.effects.concerned import format_path, limit_below, members, number, value
from components.machines.effects.labels import label_change, taint_change
from components.machines.effects.scale import DELETE_MACHINE, replica_change, staying_machines
from components.machines.effects.templates import because
from components.machines.effects.versions import PREFLIGHT, parse_version
from components.making.told import Told
from schemas.kubernetes.tables import read_table

TOLD = Told(__file__)
KIND = kinds.CONTROL_PLANE
COMPARED = "Cluster API v1.13.6, controlplane/kubeadm/internal/filters.go"
_WEBHOOK = "Cluster API v1.13.6, controlplane/kubeadm/internal/webhooks/kubeadmcontrolplane.go"
_CONTROLLER = "Cluster API v1.13.6, controlplane/kubeadm/internal/controllers"
_SCALE = f"{_CONTROLLER}/scale.go"
_EXPIRY = "Cluster API v1.13.6, util/collections/machine_filters.go, ShouldRolloutBefore"
_REFERENCE = path("spec.machineTemplate.spec.infrastructureRef")
_CONFIG = path("spec.kubeadmConfigSpec")
_CHOSEN = TOLD.say("chosen", mark=DELETE_MACHINE)
_MUTABLE: dict[str, str] = read_table(__file__)["mutable"]
"""Fields of the KubeadmConfigSpec that may change and that every machine is compared by."""
_FIRST_ONLY = "nodeRegistration patches skipPhases timeouts bootstrapTokens localAPIEndpoint"
"""Those of the initConfiguration that may change: only the machine that ran ``kubeadm init`` is
compared by them."""
_STATED = stated(__file__, webhook=_WEBHOOK, compared=COMPARED, scale=_SCALE)
(_REFUSED,) = (rule.judge for rule in _STATED if rule.path == _CONFIG)
(_IN_PLACE,) = (rule.judge for rule in _STATED if rule.path == ASKED[:2])
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
        return Effect(Impact.NONE, change.name, field.path, why, _WEBHOOK, action=Action.REFUSED)
    hosts, at_most = staying_machines(site, change)
    surge = value(change.after, *path("spec.rollout.strategy.rollingUpdate.maxSurge"))
    first = "a new one on a free host first" if surge in (1, ABSENT) else "an old one goes first"
    why = f"{what}, so Cluster API replaces the control plane's machines one at a time, {first}"
    why += _again(change) + encryption.content(change)
    return Effect(Impact.REIMAGE, change.name, field.path, why, COMPARED, hosts, at_most)


def _again(change: ObjectChange) -> str:
    """When Cluster API replaces the machines of its own accord; Git does not know the date."""
    days = number(change.after, *_BEFORE, "certificatesExpiryDays")
    later = f"; each is replaced again {_CERTIFICATE_DAYS - days} days after its installation"
    return f"{later}, before its certificates end" if days else ""


@of_field
def _before(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterator[Effect]:
    """Another time before the end of certificates: an earlier one may have come already."""
    was, now = (number(each, *_BEFORE, "certificatesExpiryDays") for each in change.both)
    if now <= was:
        why = "machines are replaced later than before, or not before their certificates end"
        yield Effect(Impact.NONE, change.name, field.path, why, _EXPIRY)
        return
    effect = _roll(site, change, field, f"certificates end within {now} days")
    why = TOLD.say("certificates", days=_CERTIFICATE_DAYS - now)
    most = len(effect.hosts) if effect.at_most is None else effect.at_most
    yield effect._replace(why=why, source=_EXPIRY, at_most=most)


@of_field
def _rollout(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterator[Effect]:
    if what := asked(change, field):
        yield _roll(site, change, field, what)
    elif field.path == ASKED[:2] and value(change.after, *_BEFORE) is not ABSENT:
        yield from _before(site, change, field)
    else:
        yield from _IN_PLACE(site, change, field)


@of_field
def _config(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterator[Effect]:
    """A field that every machine is compared by."""
    effect = _roll(site, change, field, f"{format_path(field.path)} changed")
    init = value(change.after, *_CONFIG, "initConfiguration")
    join = value(change.after, *_CONFIG, "joinConfiguration")
    if field.path[2] == "joinConfiguration" and init != join:
        why = f"{effect.why}; the machine that ran kubeadm init, if it still is there, may stay"
        effect = effect._replace(why=why)
    if field.path[2] == "files" and encryption.unreadable(change):
        why = f"{effect.why}; meanwhile {encryption.UNREADABLE}"
        effect = effect._replace(impact=Impact.UNKNOWN, why=why, source=encryption.SOURCE)
    yield effect


@of_field
def _cluster(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterator[Effect]:
    """The ClusterConfiguration as a whole: what comes is judged by its fields; that all of it goes
    is a change that the webhook does not list."""
    known = set(_MUTABLE["clusterConfiguration"].split())
    if field.before is ABSENT and isinstance(field.after, dict) and set(field.after) <= known:
        yield _roll(site, change, field, f"{format_path(field.path)} is new")
    else:
        yield from _REFUSED(site, change, field)


@of_field
def _init(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterator[Effect]:
    """A field that only ``kubeadm init`` reads: its machine is taken to be up to date while what it
    was made with equals the joinConfiguration."""
    made = value(change.before, *_CONFIG, "initConfiguration")
    if made == value(change.after, *_CONFIG, "joinConfiguration"):
        why = "kubeadm init alone reads it; machines that joined are compared by joinConfiguration"
        yield Effect(Impact.NONE, change.name, field.path, why, COMPARED)
        return
    effect = _roll(site, change, field, f"{format_path(field.path)} changed")
    why = "kubeadm init alone reads it: the machine that ran it is replaced, if it still is there"
    yield effect._replace(why=why, at_most=limit_below(effect.hosts, 1))


@of_field
def _reference(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterator[Effect]:
    yield _roll(site, change, field, because(site, change, _REFERENCE))


@of_field
def _version(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterator[Effect]:
    """One minor up at most; the way back is refused by nobody."""
    effect = _roll(site, change, field, f"the version goes from {field.before} to {field.after}")
    was, now = parse_version(field.before), parse_version(field.after)
    if _skips(change):
        why = f"the webhook refuses {field.after} after {field.before}: one minor version at a time"
        yield effect._replace(why=why)
    elif now[:2] < was[:2]:
        why = TOLD.say("way_back", before=field.before, after=field.after)
        yield effect._replace(impact=Impact.UNKNOWN, why=why, source=_WEBHOOK)
    elif now[:2] > was[:2] and _lagging(site, now[:2]):
        why = TOLD.say("versions_apart", why=effect.why)
        yield effect._replace(why=why, source=f"{COMPARED}; {PREFLIGHT}")
    else:
        yield effect


def _lagging(site: SiteChange, minor: tuple[int, ...]) -> bool:
    """True if some worker pool stays at another minor version."""
    found = site.after.objects.values() if site.after else ()
    version = path("spec.template.spec.version")
    return any(
        parse_version(value(each, *version))[:2] != minor
        for each in found
        if each.group_kind == kinds.DEPLOYMENT
    )


@of_field
def _replicas(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterator[Effect]:
    yield from replica_change(site, change, field, _CHOSEN, _SCALE, rolls=False)


def _whole(site: SiteChange, change: ObjectChange, _field: FieldChange | None) -> Iterator[Effect]:
    if change.before is None:
        hosts = members(site.after, change)
        why = "its machines are installed one after the other, the first with kubeadm init"
        why += _again(change)
        most, action = limit_below(hosts, number(change.after, "spec", "replicas")), Action.ADDED
        yield Effect(Impact.ADD, change.name, (), why, _SCALE, hosts, most, action)
        return
    hosts, action = members(site.before, change), removal_action(change)
    what = "once no worker Machine is left, all its Machines are deleted at once, without drains"
    why, source = removal(action, what), f"{_CONTROLLER}/controller.go"
    yield Effect(Impact.REMOVE, change.name, (), why, source, hosts, action=action)


RULES = [
    *metadata_rules(KIND),
    Rule(KIND, path("spec.version"), _version),
    Rule(KIND, path("spec.replicas"), _replicas),
    Rule(KIND, _REFERENCE, _reference),
    Rule(KIND, path("spec.machineTemplate.metadata.labels"), label_change),
    Rule(KIND, path("spec.machineTemplate.spec.taints"), taint_change),
    Rule(KIND, _BEFORE, _before),
    Rule(KIND, ASKED[:2], _rollout),
    *_STATED,
    *(
        Rule(KIND, (*_CONFIG, *path(section), field), _config)
        for section, fields in _MUTABLE.items()
        for field in fields.split()
    ),
    *(Rule(KIND, (*_CONFIG, "initConfiguration", each), _init) for each in _FIRST_ONLY.split()),
    Rule(KIND, (*_CONFIG, "clusterConfiguration"), _cluster),
    Rule(KIND, (), _whole, whole=True),
]
"""The rules of the control plane."""
