"""Rules on cards that pods share: what cannot be divided so, and what nobody would do.

Sources: NVIDIA/k8s-device-plugin 0.20.0, api/config/v1 (one way of sharing) and
cmd/mps-control-daemon (MPS takes no MIG device); NVIDIA/gpu-operator 26.3.3, assets (the operator
brings the MPS control daemon); dra-driver-nvidia-gpu 0.4.1, pkg/featuregates (TimeSlicingSettings
and MPSSupport are alpha and off).
"""

from collections.abc import Iterator

from schemas.facts.racks import nvlink_pools
from schemas.facts.sharing import MIG_LABEL, PLUGIN_LABEL, share_name
from schemas.model.accelerators import MIG_PREFIX, Sharing
from schemas.model.vocabulary import ModelBy
from schemas.rules.finding import Finding, InPool, say

_LONGEST, _VENDOR = 63, "nvidia"


def shares(at: InPool) -> Iterator[Finding]:
    """The cards of a pool can be shared as it says, by somebody."""
    if (sharing := at.pool.sharing) is None:
        return
    ways = [each for each in ("mig", "time_slicing", "mps") if getattr(sharing, each)]
    if len(ways) == 1:
        yield from _way(at, sharing, ways[0])
    else:
        row = "sharing-in-two-ways" if ways else "sharing-in-no-way"
        yield say(row, at.path("sharing"), " and ".join(ways))


def _way(at: InPool, sharing: Sharing, way: str) -> Iterator[Finding]:
    settings, place = at.site.file.accelerators, at.path("sharing")
    profile = at.site.hardware.get(at.pool.hardware)
    cards = profile.accelerators if profile else None
    if profile and (cards is None or settings is None):
        yield say("sharing-of-nothing", place, at.pool.hardware)
    record = at.site.accelerators.get(cards.model) if cards else None
    if cards is None or settings is None or record is None:
        return  # an unknown profile or model is a fault of its own
    model, name = cards.model, share_name(cards.model, sharing)
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
    if at.pool.sharing and at.pool in nvlink_pools(at.site):
        yield say("sharing-of-a-domain", at.path("sharing"), at.pool)


def own_labels(at: InPool) -> Iterator[Finding]:
    """The labels that divide a pool's cards follow from ``sharing`` alone."""
    for field in ("labels", "labels_in_place") if at.pool.sharing else ():
        for key in getattr(at.pool, field):
            if key in (MIG_LABEL, PLUGIN_LABEL):
                yield say("sharing-label-twice", at.path(field, key), key)
