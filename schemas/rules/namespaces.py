"""Rules on namespaces of the site's own cluster: each belongs to one, and none to Kubernetes.

Whoever may make pods in a namespace may use the rights of all that is in it.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from schemas.facts.site import Site
from schemas.model.etcd_snapshots import NAMESPACE as ETCD_SNAPSHOTS
from schemas.model.vocabulary import BackendKind, RemediatorKind
from schemas.rules.finding import Finding, Path
from schemas.rules.texts import say

TAKEN = re.compile(r"default|cert-manager|kube-.*|.*-system")
"""Namespaces of Kubernetes and of the programs that clusters run."""
OWN = ("accelerators", "network-devices", "disruption-recorder", ETCD_SNAPSHOTS)
"""Namespaces in which Foresite itself puts programs, on whatever site needs them."""


class _Named(NamedTuple):
    """A namespace that a site file names: where, whose it is, and whether the file says so or
    leaves it to the default. ``brought``: the site itself runs the program, wherever it likes."""

    name: str
    place: Path
    owner: str
    written: bool = True
    team: bool = False
    brought: bool = False


def one_owner(site: Site) -> Iterator[Finding]:
    """A namespace belongs to one team or one program, and to nobody else."""
    owners: dict[str, _Named] = {}
    for each in (*sorted(_programs(site), key=lambda program: program.written), *_teams(site)):
        other = owners.setdefault(each.name, each)
        if TAKEN.fullmatch(each.name) and not each.brought:
            yield _reserved_name(each, "Kubernetes or its programs")
        elif each.name in OWN:
            yield _reserved_name(each, "Foresite's own plugins")
        elif other is each or (other.brought and each.brought):
            continue
        elif other.team and other.owner == each.owner:
            yield say("listed-twice", each.place, f"namespace {each.name}")
        elif other.team:
            yield say("namespace-of-other-team", each.place, each, other)
        else:
            yield _reserved_name(each, other.owner)


def _reserved_name(each: _Named, owner: str) -> Finding:
    return say("namespace-reserved", each.place, each, owner)


def _programs(site: Site) -> Iterator[_Named]:
    """The namespaces of programs that the site has or may get."""
    devices, settings = site.file.network_devices, site.file.accelerators
    place: Path = ("network_devices", "operator_namespace")
    written = place[1] in devices.model_fields_set
    owner = "the SR-IOV network operator"
    yield _Named(devices.operator_namespace, place, owner, written=written)
    operator = settings.gpu_operator if settings else None
    if operator is not None:
        place = ("accelerators", "gpu_operator", "namespace")
        written = "namespace" in operator.model_fields_set
        yield _Named(operator.namespace, place, "the GPU operator", written=written)
    scheduling = site.file.scheduling
    backends = scheduling.backends if scheduling else []
    if scheduling and any(each.kind is BackendKind.KUBE_SCHEDULER for each in backends):
        written = "namespace" in scheduling.model_fields_set
        place = ("scheduling", "namespace")
        yield _Named(scheduling.namespace, place, "the schedulers", written=written)
    cache = site.file.cache
    if cache is not None:
        place = ("cache", "namespace")
        written = place[1] in cache.model_fields_set
        yield _Named(cache.namespace, place, "the object cache", written=written)
    yield from _watching(site)


def _watching(site: Site) -> Iterator[_Named]:
    """The namespaces of what finds and repairs faults, and of what watches the site."""
    remediation, monitoring = site.file.remediation, site.file.monitoring
    if remediation is not None:
        place: Path = ("remediation", "namespace")
        written = place[1] in remediation.model_fields_set
        yield _Named(remediation.namespace, place, "fault remediation", written=written)
        medik8s = remediation.medik8s
        if any(remediator.kind is RemediatorKind.MEDIK8S for remediator in remediation.healers):
            place = ("remediation", "medik8s", "namespace")
            written = "namespace" in medik8s.model_fields_set
            yield _Named(medik8s.namespace, place, "medik8s", written=written, brought=True)
    if monitoring is not None:
        place = ("monitoring", "namespace")
        written = place[1] in monitoring.model_fields_set
        yield _Named(
            monitoring.namespace,
            place,
            "Prometheus and Alertmanager",
            written=written,
            brought=True,
        )


def _teams(site: Site) -> Iterator[_Named]:
    scheduling = site.file.scheduling
    for number, team in enumerate(scheduling.teams if scheduling else ()):
        for index, name in enumerate(team.namespaces):
            place = ("scheduling", "teams", number, "namespaces", index)
            yield _Named(name, place, f"team {team.name}", team=True)
