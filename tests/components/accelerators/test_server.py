"""Every object of a site's accelerators against a real API server, and what policies may cost."""

from dataclasses import replace

import pytest

from components.accelerators.objects import objects
from controlplane import ControlPlane
from controlplane.crds import install_crds
from schemas.facts.site import Site
from schemas.kubernetes.objects import load_crds
from schemas.model.accelerators import AcceleratorSettings
from schemas.model.hardware import Accelerators
from tests.kit.accelerator_pods import PLUGIN, answer, apply, limits, namespaces, pod, remove, until
from tests.kit.accelerator_sites import FILE, by_dra, operated_by, site

EVERY_MODEL = [
    {**each, "hardware": "a100-sxm4-80gb-x8"} if each["name"] == "cpu" else each
    for each in FILE["pools"]
]
"""Pools with every model that the catalogue has: what a class may cost is judged by the server."""

pytestmark = pytest.mark.controlplane


@pytest.mark.parametrize(
    "made",
    [
        site(),
        by_dra(),
        by_dra(pools=EVERY_MODEL),
        operated_by(),
        operated_by(max_parallel_upgrades=2),
        operated_by(drivers=False),
    ],
    ids=["plugins", "dra", "catalogue by dra", "operator", "renewing operator", "no drivers"],
)
def test_every_object_passes_a_strict_dry_run(api: ControlPlane, made: Site) -> None:
    manifests = objects(made)
    with api.client() as client:
        kinds = {"/".join(each.key[:2]) for each in manifests}
        install_crds(client, load_crds(kinds))
        apply(client, manifests, dry_run=True)


def test_twenty_models_are_within_what_a_policy_may_cost(api: ControlPlane) -> None:
    """The API server adds up what expressions cost when a policy is made, and when it runs."""
    many = site_of_many(20)
    name = many.resource("board-19")
    containers = [{"limits": {name: "1"}} for _ in range(8)]
    made = [each for each in objects(many) if "AdmissionPolicy" in each.kind]
    with api.client() as client:
        namespaces(client)
        apply(client, made)
        try:
            until(
                lambda: answer(client, pod(*containers)),
                lambda said: limits(said) == {name: "1", PLUGIN: "1"},
            )
        finally:
            remove(client, made)


def site_of_many(count: int) -> Site:
    """The site with so many models, each on the hosts of one pool of its own."""
    own = {
        f"board-{n:02}": {
            "description": "a board",
            "vendor": "acme",
            "pci": {"vendor": "1ee7"},
            "plugin": {
                "resource": PLUGIN,
                "image": f"registry.example/a:1@sha256:{'ab' * 32}",
            },
        }
        for n in range(count)
    }
    plain = site()
    settings = AcceleratorSettings.model_validate(
        {"prefix": "accelerators.research.example.com", "models": own}
    )
    host = plain.hardware["mncore2-x8"]
    hardware = {
        f"host-{name}": host.model_copy(update={"accelerators": Accelerators(model=name, count=8)})
        for name in own
    }
    (pool,) = (each for each in plain.file.pools if each.name == "mncore")
    pools = [
        pool.model_copy(update={"name": f"p-{name}", "hardware": f"host-{name}"}) for name in own
    ]
    control = [each for each in plain.file.pools if each.name == "control"]
    file = plain.file.model_copy(update={"pools": [*control, *pools], "accelerators": settings})
    return replace(
        plain,
        file=file,
        hardware={**plain.hardware, **hardware},
        accelerators={**plain.accelerators, **settings.models},
    )
