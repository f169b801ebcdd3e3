"""Shares of accelerators: what a card becomes whose pool divides it, as a model of its own.
Sources: NVIDIA/k8s-device-plugin 0.20.0, api/config/v1 (strategy mixed: a resource for each MIG
profile; without renameByDefault shares keep the card's name) and its chart (a plugin of MIG slices
has SYS_ADMIN); dra-driver-nvidia-gpu 0.4.1, attribute ``profile``."""

from collections.abc import Mapping
from contextlib import suppress

from schemas.model.accelerators import AcceleratorModel, Dra, Sharing
from schemas.model.hardware import HardwareProfile
from schemas.model.site_file import Pool, SiteFile
from schemas.model.vocabulary import ModelBy

MIG_LABEL, PLUGIN_LABEL = "nvidia.com/mig.config", "nvidia.com/device-plugin.config"
"""The labels of nodes by which the GPU operator divides their cards."""
MIG_RESOURCE = "nvidia.com/mig-"


def share_name(model: str, sharing: Sharing) -> str:
    """The name of the shares of a model."""
    return f"{model}-{sharing.label}"


def devices_of_pod(pool: Pool, devices: int) -> int:
    """The most that a pod may have of the ``devices`` of a host: one share, as a CUDA process sees
    one MIG slice, and further turns on a card make nothing faster."""
    return min(1, devices) if pool.sharing else devices


def with_shares(
    file: SiteFile, hardware: Mapping[str, HardwareProfile], records: Mapping[str, AcceleratorModel]
) -> Mapping[str, AcceleratorModel]:
    """The records of cards, and of the shares of pools; parts that are holes have none."""
    found: dict[str, AcceleratorModel] = {}
    for pool in getattr(file, "pools", ()):
        with suppress(AttributeError):
            found |= _shares_of(pool, hardware, records)
    return {**records, **found} if found else records


def _shares_of(
    pool: Pool, hardware: Mapping[str, HardwareProfile], records: Mapping[str, AcceleratorModel]
) -> dict[str, AcceleratorModel]:
    sharing, profile = pool.sharing, hardware.get(pool.hardware)
    cards = profile.accelerators if profile else None
    record = records.get(cards.model) if cards else None
    if sharing is None or cards is None or record is None or not sharing.shares(record):
        return {}
    return {share_name(cards.model, sharing): _record(record, sharing)}


def _record(record: AcceleratorModel, sharing: Sharing) -> AcceleratorModel:
    """A share's record. MIG slices and the server of MPS do not outlive a reset of the card."""
    if not sharing.mig:
        return record.model_copy(update={"reset": None} if sharing.mps else {})
    rights = sorted({*record.plugin.capabilities, "SYS_ADMIN"})
    given = {"env": {**record.plugin.env, "MIG_STRATEGY": "mixed"}, "capabilities": rights}
    resource = f"{MIG_RESOURCE}{sharing.profile}"
    plugin = record.plugin.model_copy(update={"resource": resource, **given})
    gib = int(sharing.profile.partition(".")[2].removesuffix("gb"))
    dra = _slices(record.dra, sharing.profile) if record.dra else None
    changed = {"reset": None, "plugin": plugin, "memory_gib": gib, "dra": dra}
    return record.model_copy(update=changed)


def _slices(dra: Dra, profile: str) -> Dra | None:
    if not dra.mig_expressions:
        return None
    own = f'device.attributes["{dra.driver}"].?profile.orValue("") == "{profile}"'
    return dra.model_copy(update={"expressions": [*dra.mig_expressions, own]})


def plugin_key(pool: Pool) -> str:
    """The part of the operator's plugin configuration that a pool's nodes name. The plugin reads
    another part when the label changes, and never the same one again (cmd/config-manager)."""
    return f"{pool.name}-{pool.sharing.label}" if pool.sharing else pool.name


def operator_labels(file: SiteFile, pool: Pool) -> dict[str, str]:
    """The labels of a pool's nodes by which NVIDIA's operator divides their cards."""
    settings = file.accelerators
    if pool.sharing is None or settings is None or settings.gpu_operator is None:
        return {}
    if pool.sharing.mig:
        return {MIG_LABEL: pool.sharing.mig}
    return {PLUGIN_LABEL: plugin_key(pool)} if settings.model_by is ModelBy.ADMISSION else {}
