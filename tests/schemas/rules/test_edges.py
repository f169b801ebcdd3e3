"""Rules at their edges: the last value that passes, the first that fails, and what advice says
there. Files with one fault show values well beyond."""

import base64
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from schemas.facts.site import Site
from schemas.model.codes import Code
from schemas.model.remediation import Remediation
from schemas.model.vocabulary import Role
from schemas.rules import (
    accelerators,
    accelerators_requests,
    files,
    judge,
    object_cache_server,
    remediation,
    remediation_repairs,
    schedulers,
    teams,
)
from schemas.rules import versions as version_rules
from schemas.rules.accelerators import OPERATOR_IMAGE
from schemas.rules.finding import InPool
from tests.golden import every_site, with_file, with_pool

SITE = every_site()["tokyo-1"]


def with_section(site: Site, name: str, **fields: Any) -> Site:
    """A site with other fields in a section that it has, read as from its file."""
    section = getattr(site.file, name)
    read = section.model_dump(mode="json", exclude_unset=True) | fields
    return with_file(site, **{name: type(section).model_validate(read)})


@pytest.mark.parametrize(("port", "fits"), [(0, False), (1, True), (65535, True), (65536, False)])
def test_a_registry_has_a_port_of_tcp(port: int, fits: bool) -> None:
    layers = {"bucket": "image-layers", "registries": [f"registry.example:{port}"]}
    if fits:
        site = with_section(SITE, "cache", image_layers=layers)
        assert list(judge(object_cache_server.image_layers, site)) == []
    else:
        with pytest.raises(ValidationError, match=r"registries\.0"):
            with_section(SITE, "cache", image_layers=layers)


@pytest.mark.parametrize("body", [b"\x30", b"\x30\x81", b"\x30\x81\x00"])
def test_a_few_bytes_are_no_certificate(body: bytes) -> None:
    text = base64.b64encode(body).decode()
    block = f"-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n"
    site = with_section(SITE, "first_boot", ca_certificates=["short.pem"])
    site = replace(site, texts={**site.texts, "short.pem": block})
    assert [each.code for each in files.certificates(site)] == [Code.FILE_CONTENT]


def test_where_no_card_is_there_no_overcommit_is_advised() -> None:
    hosts = tuple(each for each in SITE.hosts if each.pool != "h100")
    (found,) = judge(teams.overcommitment, replace(SITE, hosts=hosts))
    assert "there are 0" in found.message
    assert "overcommit_percent" not in found.fix


@pytest.mark.parametrize(("control_planes", "said"), [(1, "the only"), (2, "one of 2")])
def test_a_healer_of_few_control_planes_is_told_what_it_costs(
    control_planes: int, said: str
) -> None:
    hosts = [each for each in SITE.hosts if each.pool == "control"][:control_planes]
    site = with_pool(replace(SITE, hosts=tuple(hosts)), "control", spares=0)
    healers = [{"name": "healer", "pools": ["control"]}]
    site = with_file(site, remediation=Remediation.model_validate({"healers": healers}))
    (found,) = (each for each in remediation.budgets(site) if "control plane" in each.message)
    assert said in found.message


def test_a_pool_is_told_the_least_that_it_lacks() -> None:
    faults = ["pcie-link-degraded", "accelerator-missing"]
    healers = [{"name": "healer", "pools": ["cpu"], "faults": faults}]
    site = with_file(SITE, remediation=Remediation.model_validate({"healers": healers}))
    (found,) = remediation.repairable_faults(site)
    assert found.fix == "remove it: that needs accelerators"


def test_checks_that_clear_a_fault_in_half_of_a_reboot_pass() -> None:
    def judged(**detector: int) -> list[tuple[str, str]]:
        healers = [{"name": "healer", "pools": ["v100"]}]
        read = {"healers": healers, "reboot": {"timeout_seconds": 1100}, "detector": detector}
        site = with_file(SITE, remediation=Remediation.model_validate(read))
        found = list(judge(remediation_repairs.reporting_times, site))
        return [(str(each.place[-1]), each.fix.partition(" or ")[0]) for each in found]

    assert not judged(interval_seconds=275, good_after=2)
    assert judged(interval_seconds=276, good_after=2) == [("good_after", "write 1")]
    # One check alone fills the half: fewer of them help.
    assert judged(interval_seconds=550, good_after=2) == [("good_after", "write 1")]
    assert judged(interval_seconds=551, good_after=2) == [("interval_seconds", "write 275")]


def test_a_gang_waits_as_long_as_a_scheduler_lets_it() -> None:
    def judged(limit: int) -> list[str]:
        scheduling = SITE.file.scheduling
        assert scheduling is not None
        backends = scheduling.model_dump(mode="json", exclude_unset=True)["backends"]
        backends[0]["scheduler"]["gang"] |= {"timeout_limit_seconds": limit, "jitter_seconds": 30}
        site = with_section(SITE, "scheduling", backends=backends)
        return [each.fix for each in schedulers.gang_times(site)]

    most = schedulers.LONGEST_WAIT_SECONDS - 29  # 30 is never drawn
    assert not judged(most)
    (fix,) = judged(most + 1)
    assert fix.startswith(f"write {most} or less")


def test_the_tag_of_an_image_is_found_behind_a_registry_with_a_port() -> None:
    site = every_site()["lab-1"]
    version = f"{accelerators_requests.OPERATOR_SERIES}1"
    for tag, faults in ((version, 0), ("v25.3.0", 1)):
        image = f"registry.example:5000/nvidia/gpu-operator:{tag}@sha256:{'ab' * 32}"
        images = site.release.images | {OPERATOR_IMAGE: image}
        release = site.release.model_copy(update={"images": images})
        assert (
            len(list(judge(accelerators_requests.gpu_operator, replace(site, release=release))))
            == faults
        )


def test_a_version_like_none_that_is_known_is_answered_with_those_that_are() -> None:
    cluster = SITE.file.cluster.model_copy(update={"kubernetes": "v9.99.12345", "workers": None})
    found = next(version_rules.versions(with_file(SITE, cluster=cluster)))
    assert "write one of v1." in found.fix
    (pool,) = (each for each in SITE.file.pools if each.role is Role.CONTROL_PLANE)
    other = pool.model_copy(update={"os": "solaris"})
    (found,) = version_rules.operating_system(InPool(SITE, 0, other))
    assert found.fix.startswith("write one of ")


def test_a_model_of_a_sites_own_has_no_name_of_the_catalogue() -> None:
    file = every_site()["tsukuba-1"].file
    assert file.accelerators is not None
    assert not list(accelerators.own_models(file, {}))
    found = accelerators.own_models(file, file.accelerators.models)
    assert [(each.code, each.place[-1]) for each in found] == [(Code.DUPLICATE_NAME, "mncore2")]


def test_a_pool_that_a_backend_names_twice_is_said_to_be_twice_there() -> None:
    scheduling = SITE.file.scheduling
    assert scheduling is not None
    backends = scheduling.model_dump(mode="json", exclude_unset=True)["backends"]
    backends[0]["pools"].append(backends[0]["pools"][0])
    found = schedulers.backend_pools(with_section(SITE, "scheduling", backends=backends))
    assert [each.message for each in found] == [f"pool {backends[0]['pools'][0]} is twice here"]
