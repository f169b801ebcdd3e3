"""Resets of a host's accelerators, before a reboot. Source: NVIDIA's manual of nvidia-smi 595,
--gpu-reset: no program may have the devices open, and one command resets all on an NVLink."""

from schemas.facts.feature_gates import uses_gpu_operator
from schemas.facts.site import Site
from schemas.model.accelerators import Reset
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Fault, RemediatorKind


def reset_first(site: Site, pool: Pool) -> Reset | None:
    """The reset for which programs of a pool's hosts are prepared, whoever repairs them, so that
    they do not restart when a remediator comes or goes; None where not asked for, or where the GPU
    operator's or DRA drivers' programs keep the devices open."""
    model, remediation = site.model(pool), site.file.remediation
    if model is None or remediation is None or not remediation.reboot.reset_first:
        return None
    if site.uses_dra(model) or uses_gpu_operator(site, model):
        return None
    record = site.accelerators.get(model)
    return record.reset if record else None


def device_reset(site: Site, pool: Pool) -> Reset | None:
    """The reset that a repair of a pool's hosts tries before a reboot; None where it tries none."""
    operated = RemediatorKind.NODE_OPERATION_CONTROLLER
    healers = (each for each in site.remediators_of(pool) if each.kind is operated)
    repaired = any(Fault.ACCELERATOR_ERROR in site.repairs(pool, each) for each in healers)
    return reset_first(site, pool) if repaired else None
