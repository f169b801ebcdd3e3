"""Rules on namespaces of the site's own cluster: each belongs to one, and none to Kubernetes.

Whoever may make pods in a namespace may use the rights of all that is in it.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from pydantic import BaseModel

from schemas.facts.racks import domain_settings
from schemas.facts.site import Site
from schemas.model.etcd_snapshots import NAMESPACE as ETCD_SNAPSHOTS
from schemas.model.vocabulary import BackendKind, RemediatorKind
from schemas.rules.finding import Finding, Path
from schemas.rules.texts import say

TAKEN = re.compile(r"default|cert-manager|kube-.*|.*-system")
"""Namespaces of Kubernetes and of the programs that clusters run."""
OWN = ("accelerators", "network-devices", "host-agent", "disruption-recorder", ETCD_SNAPSHOTS)
"""Namespaces in which Foresite itself puts programs, on whatever site needs them."""
_BROUGHT = ("medik8s", "Prometheus and Alertmanager")


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
    file = site.file
    scheduling, remediation, accelerators = file.scheduling, file.remediation, file.accelerators
    backends = scheduling.backends if scheduling else []
    runs_schedulers = any(each.kind is BackendKind.KUBE_SCHEDULER for each in backends)
    medik8s, repairs = (remediation.medik8s, remediation.healers) if remediation else (None, [])
    runs_medik8s = any(each.kind is RemediatorKind.MEDIK8S for each in repairs)
    gpu_operator = accelerators.gpu_operator if accelerators else None
    devices, gpus = ("network_devices", "operator_namespace"), ("accelerators", "gpu_operator")
    holders: tuple[tuple[BaseModel | None, Path, str], ...] = (
        (file.network_devices, devices, "the SR-IOV network operator"),
        (gpu_operator, (*gpus, "namespace"), "the GPU operator"),
        (
            domain_settings(site),
            ("accelerators", "compute_domains", "namespace"),
            "ComputeDomains",
        ),
        (scheduling if runs_schedulers else None, ("scheduling", "namespace"), "the schedulers"),
        (file.cache, ("cache", "namespace"), "the object cache"),
        (remediation, ("remediation", "namespace"), "fault remediation"),
        (medik8s if runs_medik8s else None, ("remediation", "medik8s", "namespace"), "medik8s"),
        (file.monitoring, ("monitoring", "namespace"), "Prometheus and Alertmanager"),
    )
    for holder, place, owner in holders:
        if holder is not None:
            field = str(place[-1])
            written, brought = field in holder.model_fields_set, owner in _BROUGHT
            yield _Named(getattr(holder, field), place, owner, written, brought=brought)


def _teams(site: Site) -> Iterator[_Named]:
    for number, team in enumerate(site.scheduling.teams):
        for index, name in enumerate(team.namespaces):
            place = ("scheduling", "teams", number, "namespaces", index)
            yield _Named(name, place, f"team {team.name}", team=True)
