"""Resets of a host's accelerators, before a reboot.

Source: NVIDIA's manual of nvidia-smi 595, --gpu-reset: no program may have the devices open, and
those that NVLink connects are reset by one command.
"""

from schemas.facts.feature_gates import uses_gpu_operator
from schemas.facts.site import Site
from schemas.model.accelerators import Reset
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Fault, RemediatorKind


def device_reset(site: Site, pool: Pool) -> Reset | None:
    """The command that resets the devices of a pool's hosts; None where a repair does not try it.

    What the GPU operator and DRA drivers run keeps the devices open, so a reset would fail there.
    """
    model = site.model(pool)
    record = site.accelerators.get(model) if model else None
    if model is None or record is None or site.uses_dra(model) or uses_gpu_operator(site, model):
        return None
    repaired = any(
        Fault.ACCELERATOR_ERROR in site.repairs(pool, each)
        for each in site.remediators_of(pool)
        if each.kind is RemediatorKind.NODE_OPERATION_CONTROLLER
    )
    return record.reset if repaired else None
