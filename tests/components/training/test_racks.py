"""Workers in one rack: what jobs of every template say of it, on every kind of scheduler."""

from dataclasses import replace
from typing import Any

import pytest

from components.making.manifest import Json
from components.training.made import Made
from components.training.request import JobRequest, Template
from schemas.facts.site import Site
from schemas.kubernetes.objects import check_object
from schemas.model.accelerators import ComputeDomains
from schemas.model.hardware import NvlinkDomain
from schemas.model.vocabulary import TopologyLevel
from tests.kit.training_pods import Pod, expanded
from tests.kit.training_site import fitting, gangs, made, make, refused, request, sites

KINDS = sorted(sites())
RACK = "foresite.dev/rack"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
QUEUE = "kueue.x-k8s.io/podset-"
every_template = pytest.mark.parametrize("template", Template)


def by_racks(site: Site) -> Site:
    """A site whose backend has a topology, with two hosts of a pool in a rack."""
    hosts = [
        host._replace(rack=f"{host.zone}-r{site.by_pool[host.pool].index(host) // 2}")
        for host in site.hosts
    ]
    file = site.file
    if file.scheduling is not None:
        levels = {"topology": list(TopologyLevel)}
        backends = [each.model_copy(update=levels) for each in file.scheduling.backends]
        scheduling = file.scheduling.model_copy(update={"backends": backends})
        file = file.model_copy(update={"scheduling": scheduling})
    return replace(site, hosts=tuple(hosts), file=file)


def with_nvlink(site: Site) -> Site:
    """A site each rack of which is an NVLink domain, with ComputeDomains."""
    link = {"nvlink_domain": NvlinkDomain.RACK}
    hardware = {name: each.model_copy(update=link) for name, each in site.hardware.items()}
    assert site.file.accelerators
    domains = site.file.accelerators.model_copy(update={"compute_domains": ComputeDomains()})
    file = site.file.model_copy(update={"accelerators": domains})
    return replace(site, hardware=hardware, file=file)


def workers(site: Site, wanted: JobRequest) -> list[Pod]:
    return [
        each for each in expanded(site, made(site, wanted)) if each.part not in ("ps", "launcher")
    ]


def near(pod: Pod) -> Json:
    found: Json = pod.spec.get("affinity", {}).get("podAffinity", {})
    return found


def notes(pod: Pod) -> dict[str, str]:
    return {key: value for key, value in pod.annotations.items() if key.startswith(QUEUE)}


def term(pod: Pod) -> Json:
    """The term of a worker's affinity."""
    (found,) = near(pod).get(REQUIRED) or [each["podAffinityTerm"] for each in near(pod)[PREFERRED]]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("kind", KINDS)
@every_template
def test_without_a_topology_nothing_is_said(kind: str, template: Template) -> None:
    for pod in expanded(sites()[kind], made(sites()[kind], fitting(kind, template))):
        assert (near(pod), notes(pod)) == ({}, {})


@pytest.mark.parametrize("how", [None, "preferred", "required", "any"])
@pytest.mark.parametrize("kind", KINDS)
@every_template
def test_workers_follow_each_other_into_a_rack(
    kind: str, template: Template, how: str | None
) -> None:
    site, wanted = by_racks(sites()[kind]), fitting(kind, template, rack=how)
    assert [fault for each in made(site, wanted) for fault in check_object(each)] == []
    said = how or ("any" if kind == "default" else "preferred")
    for pod in workers(site, wanted):
        if kind == "kueue":
            value = {"unconstrained": "true"} if said == "any" else {said: RACK}
            assert notes(pod) == {f"{QUEUE}{key}-topology": text for key, text in value.items()}
            assert near(pod) == {}
            continue
        assert notes(pod) == {}
        assert (
            list(near(pod)) == {"any": [], "preferred": [PREFERRED], "required": [REQUIRED]}[said]
        )
        if said != "any":
            assert term(pod)["topologyKey"] == RACK
            assert wanted.job in term(pod)["labelSelector"]["matchLabels"].values()
    for pod in expanded(site, made(site, wanted)):
        if pod.part in ("ps", "launcher"):
            assert (near(pod), notes(pod)) == ({}, {})


def test_one_worker_alone_has_no_affinity() -> None:
    (pod,) = workers(by_racks(gangs()), request(workers=1))
    assert near(pod) == {}


@pytest.mark.parametrize(
    ("kind", "changed", "option", "says", "fix"),
    [
        ("gang", {"workers": 3, "rack": "required"}, "--workers", "a rack holds 2", "at most 2"),
        ("gang", {"rack": "requird"}, "--rack", "there is no requird", "required, preferred, any"),
    ],
)
def test_what_no_rack_holds_is_refused(
    kind: str, changed: dict[str, Any], option: str, says: str, fix: str
) -> None:
    (found,) = refused(by_racks(sites()[kind]), request(**changed))
    assert (found.option, says in found.message, fix in found.fix) == (option, True, True)


@every_template
def test_without_a_topology_of_kueue_its_workers_have_affinity(template: Template) -> None:
    for pod in workers(sites()["kueue"], fitting("kueue", template, rack="preferred")):
        assert notes(pod) == {}
        assert list(near(pod)) == [PREFERRED]


def test_a_rack_whose_name_is_in_two_zones_is_no_place() -> None:
    site = gangs()
    zones = ("a", "b")
    hosts = [each._replace(rack="r1", zone=zones[at % 2]) for at, each in enumerate(site.hosts)]
    (found,) = refused(replace(site, hosts=tuple(hosts)), request(rack="preferred"))
    assert (found.option, "two zones" in found.message) == ("--rack", True)


def test_a_job_larger_than_a_rack_says_so() -> None:
    found = make(by_racks(gangs()), request(workers=3))
    assert isinstance(found, Made)
    assert any("No rack holds all workers: the largest holds 2" in each for each in found.notes)


@pytest.mark.parametrize("kind", KINDS)
@every_template
def test_hosts_that_share_nvlink_give_a_domain_and_a_rack(kind: str, template: Template) -> None:
    site, wanted = with_nvlink(by_racks(sites()[kind])), fitting(kind, template, per_worker=8)
    objects = made(site, wanted)
    assert [fault for each in objects for fault in check_object(each)] == []
    assert objects[0]["kind"] == "ComputeDomain"
    (template_name,) = objects[0]["spec"]["channel"]["resourceClaimTemplate"].values()
    for pod in workers(site, wanted):
        (claim,) = pod.spec["resourceClaims"]
        assert claim["resourceClaimTemplateName"] == template_name
        assert pod.container["resources"]["claims"] == [{"name": claim["name"]}]
        if kind == "kueue":
            assert notes(pod) == {f"{QUEUE}required-topology": RACK}
        else:
            assert list(near(pod)) == [REQUIRED]
    larger = make(with_nvlink(by_racks(gangs())), request(workers=3))
    assert isinstance(larger, Made)
    assert any("No rack holds all workers" in each for each in larger.notes)


def test_a_host_has_one_channel_of_a_domain() -> None:
    """Two hosts in a rack hold two workers of a domain, however small these are."""
    (found,) = refused(
        with_nvlink(by_racks(gangs())), request(workers=3, per_worker=1, rack="required")
    )
    assert "a rack holds 2" in found.message
    # Kueue's topology chooses hosts without looking at channels.
    halves = fitting("kueue", Template.ALL_REDUCE, per_worker=4)
    (found,) = refused(with_nvlink(by_racks(sites()["kueue"])), halves)
    assert (found.option, "one channel" in found.message) == ("--per-worker", True)
