"""A small site whose faults are looked for, and its detectors' objects."""

from dataclasses import replace
from typing import Any

from components.making.manifest import Json
from components.remediation.detector import NAME, detectors
from schemas.facts.site import Site
from schemas.model.remediation import Detector, Remediation
from schemas.model.site_file import Pool
from tests.kit import accelerator_sites


def with_detector(site: Site, **changed: Any) -> Site:
    """The site with its faults looked for, and other settings of the detector."""
    given = site.file.remediation or Remediation()
    detector = Detector.model_validate({**given.detector.model_dump(), **changed})
    found = given.model_copy(update={"detector": detector})
    return replace(site, file=site.file.model_copy(update={"remediation": found}))


def osaka(**changed: Any) -> Site:
    """The small site with several kinds of accelerators."""
    return with_detector(accelerator_sites.site(), **changed)


def pool(site: Site, name: str) -> Pool:
    (found,) = (each for each in site.file.pools if each.name == name)
    return found


def bodies(site: Site) -> dict[str, Json]:
    found = {each.name: each.body for each in detectors(site)}
    assert len(found) == len(detectors(site))
    return found


def configuration(site: Site, name: str) -> dict[str, str]:
    found: dict[str, str] = bodies(site)[f"ConfigMap/{NAME}/{name}"]["data"]
    return found


def pod(site: Site, name: str) -> Json:
    found: Json = bodies(site)[f"DaemonSet/{NAME}/{name}"]["spec"]["template"]
    return found
