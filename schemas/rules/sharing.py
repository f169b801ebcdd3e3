"""Rules on cards that pods share: what cannot be divided so, and what nobody would do.

Sources: NVIDIA/k8s-device-plugin 0.20.0, api/config/v1 (one way of sharing) and
cmd/mps-control-daemon (MPS takes no MIG device); NVIDIA/gpu-operator 26.3.3, assets (the operator
brings the MPS control daemon); dra-driver-nvidia-gpu 0.4.1, pkg/featuregates (TimeSlicingSettings
and MPSSupport are alpha and off).
"""

from collections.abc import Iterator

from schemas.facts.sharing import MIG_LABEL, PLUGIN_LABEL, share_name
from schemas.model.accelerators import MIG_PREFIX
from schemas.model.vocabulary import ModelBy
from schemas.rules.finding import Finding, InPool, say

_LONGEST, _VENDOR = 63, "nvidia"


def shares(at: InPool) -> Iterator[Finding]:
    """The cards of a pool can be shared as it says, by somebody."""
    sharing, settings = at.pool.sharing, at.site.file.accelerators
    if sharing is None:
        return
    ways = [each for each in ("mig", "time_slicing", "mps") if getattr(sharing, each)]
    if len(ways) != 1:
        row = "sharing-in-two-ways" if ways else "sharing-in-no-way"
        yield say(row, at.path("sharing"), " and ".join(ways))
        return
    place, (way,) = at.path("sharing"), ways
    cards = at.site.profile(at.pool).accelerators
    if cards is None or settings is None:
        yield say("sharing-of-nothing", place, at.pool.hardware)
        return
    model, record = cards.model, at.site.accelerators[cards.model]
    name = share_name(model, sharing)
    if record.vendor != _VENDOR:
        yield say("sharing-of-another-vendor", place, model, record)
    elif not sharing.shares(record):
        has = ", ".join(f"{MIG_PREFIX}{each}" for each in record.mig)
        fix = f"write one of {has}" if has else "write time_slicing, or remove sharing"
        row = "sharing-profile-unknown" if has else "sharing-without-mig"
        yield say(row, (*place, "mig"), model, sharing.profile, fix)
    elif name in settings.models:
        yield say("sharing-name-taken", ("accelerators", "models", name), name, at.pool, key=True)
    elif len(name) > _LONGEST:
        yield say("sharing-name-too-long", place, name, _LONGEST)
    elif not sharing.mig and settings.model_by is ModelBy.DRA:
        yield say("sharing-with-dra", (*place, way))
    elif sharing.mps and settings.gpu_operator is None:
        yield say("mps-without-operator", (*place, way))


def whole_racks(at: InPool) -> Iterator[Finding]:
    """The cards of a rack that is an NVLink domain are not shared."""
    if at.pool.sharing and at.site.profile(at.pool).nvlink_domain:
        yield say("sharing-of-a-domain", at.path("sharing"), at.pool)


def own_labels(at: InPool) -> Iterator[Finding]:
    """The labels that divide a pool's cards follow from ``sharing`` alone."""
    for field in ("labels", "labels_in_place") if at.pool.sharing else ():
        for key in getattr(at.pool, field):
            if key in (MIG_LABEL, PLUGIN_LABEL):
                yield say("sharing-label-twice", at.path(field, key), key)
