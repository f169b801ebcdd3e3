"""Sites of 2026's cards: MI300X with RoCE on eight rails, and a pool of MIG slices.

osaka-1 of tests/kit/accelerator_sites.py with other hardware on its pools.
"""

import functools
from typing import Any

from components.making.manifest import Json
from schemas.facts.site import Site
from tests.kit.accelerator_sites import FILE, OWN, OWN_RELEASE
from tests.kit.accelerator_sites import site as osaka
from tests.kit.training_site import GANG

RAILS = 8
ROCE: Json = {
    "rdma": [
        {
            "name": "rail",
            "interfaces": [f"rdma{rail}" for rail in range(RAILS)],
            "hcas": [f"bnxt_re{rail}" for rail in range(RAILS)],
            "by_rail": True,
            "link": "ethernet",
            "gbps": 400,
        }
    ]
}
SLICES, SHARED = "h100-sxm5-80gb-1g-10gb", "t4-pcie-16gb-shared-4"
H100, MI300X = "h100-sxm5-80gb", "mi300x-192gb"


def _pools(**changed: Json) -> list[Json]:
    return [{**pool, **changed.get(pool["name"], {})} for pool in FILE["pools"]]


def _scheduling(model: str, count: int, *pools: str) -> Json:
    teams = [{"name": "vision", "namespaces": ["vision"], "accelerators": {model: count}}]
    return {"backends": [{**GANG, "pools": list(pools)}], "teams": teams}


def settings(**more: Any) -> Json:
    """The section ``accelerators`` of these sites."""
    return {"prefix": "preferred.jp", "models": OWN, **more}


@functools.cache
def mi300x() -> Site:
    """MI300X on h100's hosts, with RoCE on eight rails."""
    pools = _pools(h100={"hardware": f"{MI300X}-x8", "network_devices": ROCE})
    return osaka(
        settings(), release=OWN_RELEASE, pools=pools, scheduling=_scheduling(MI300X, 16, "h100")
    )


def slices(*, turns: bool = True, model_by: str = "admission", **more: Any) -> Site:
    """H100 in slices (168 on three hosts), and T4 of which four pods take turns on each."""
    turn = {"t4": {"sharing": {"time_slicing": 4}}} if turns else {}
    pools = _pools(h100={"sharing": {"mig": "all-1g.10gb"}}, **turn)
    scheduling = _scheduling(SLICES, 112, "h100")
    return osaka(settings(model_by=model_by), pools=pools, scheduling=scheduling, **more)


@functools.cache
def operated_slices(**way: int) -> Site:
    """The same under NVIDIA's operator, with MPS or time slicing on T4."""
    pools = _pools(h100={"sharing": {"mig": "all-1g.10gb"}}, t4={"sharing": way})
    return osaka(settings(gpu_operator={}), release="2026.12", pools=pools)
