"""Exporters of accelerators: Foresite's by the ports of their records, and the GPU operator's."""

from components.accelerators.names import NAMESPACE
from components.accelerators.plugins import EXPORTER
from components.making.watch import Scrape
from schemas.facts.feature_gates import uses_gpu_operator
from schemas.facts.site import Site

DCGM = "dcgm-exporter"
"""NVIDIA's exporter."""
KNOWN = {"nvidia": DCGM, "amd": "amd-exporter"}
"""The exporters of whose metrics panels ask, by the maker."""
DCGM_PORT = 9400


def scrapes(site: Site) -> list[Scrape]:
    """The exporters of accelerators: Foresite's by the ports of their records, and the GPU
    operator's."""
    found: dict[tuple[str, int], list[str]] = {}
    by_operator = False
    for pool in site.file.pools:
        model = site.model(pool)
        program = site.accelerators[model].exporter if model else None
        if model is None or program is None:
            continue
        if uses_gpu_operator(site, model):
            by_operator = True
        else:
            found.setdefault((site.accelerators[model].vendor, program.port), []).append(pool.name)
    made = [_exporter(found, each) for each in sorted(found)]
    return [*made, *(_operators(site) if by_operator else [])]


def _exporter(found: dict[tuple[str, int], list[str]], key: tuple[str, int]) -> Scrape:
    """The exporters of a vendor's devices at one port."""
    vendor, port = key
    job = KNOWN.get(vendor, f"{vendor}-exporter")
    several = len([each for each in found if each[0] == vendor]) > 1
    return Scrape(
        f"{job}-{port}" if several else job,
        KNOWN.get(vendor),
        job,
        NAMESPACE,
        {"app.kubernetes.io/name": EXPORTER},
        "metrics",
        port,
        pools=tuple(found[key]),
        place=3,
    )


def _operators(site: Site) -> list[Scrape]:
    """The exporter that the GPU operator runs (NVIDIA/gpu-operator,
    assets/state-dcgm-exporter/0900_daemonset.yaml); Foresite turns the operator's own monitor
    off."""
    settings = site.file.accelerators
    if settings is None or settings.gpu_operator is None:
        return []
    space = settings.gpu_operator.namespace
    labels = {"app": "nvidia-dcgm-exporter"}
    found = Scrape("gpu-operator", DCGM, DCGM, space, labels, "metrics", DCGM_PORT)
    return [found._replace(place=3)]
