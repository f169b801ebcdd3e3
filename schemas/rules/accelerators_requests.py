"""Rules on how accelerators get to pods: the chosen way can hand out every device of the site.

Sources: those of schemas/facts/feature_gates.py; NVIDIA/k8s-operator-libs, pkg/upgrade, and
NVIDIA/gpu-operator 26.3.3, cmd/gpu-operator/main.go (the operator knows pods with GPUs by the
resource nvidia.com/gpu); Volcano 1.15.1, pkg/scheduler/api (every resource that a pod asks for is
counted against what is idle on a node, also one that a DeviceClass bears).
"""

import re
from collections.abc import Iterator

from schemas.facts.feature_gates import OLDEST, OLDEST_DRA, completed_models, counted_models
from schemas.facts.sharing import MIG_RESOURCE
from schemas.facts.site import Site
from schemas.model.accelerators import AcceleratorSettings, GpuOperator
from schemas.model.primitives import minor
from schemas.model.scheduling import Scheduling
from schemas.model.vocabulary import BackendKind, ModelBy
from schemas.reading.paths import each_at
from schemas.rules.accelerators import (
    OPERATOR,
    OPERATOR_IMAGE,
    all_known,
    operated_models,
    served_models,
)
from schemas.rules.finding import Finding, Path, say

_BARE = re.compile(r"device\.(?:attributes|capacity)\[[^\]]*\]\.(\w+)")
"""An attribute or a capacity that is read as if every device had it."""
OPERATOR_RESOURCE = "nvidia.com/gpu"
"""The resource of the operator's device plugin (NVIDIA/k8s-device-plugin without renaming)."""
_KEPT = "pods that have ended keep their devices until somebody deletes them"
_NO_BETA = "there is no beta of MutatingAdmissionPolicy and no resource.k8s.io/v1"
_OF_ITS_PROGRAM = ("image", "args", "env", "host_paths", "capabilities", "privileged")
OPERATOR_SERIES = "v26.3."
"""The operator's versions that objects are written for; in 26.7 an NVIDIADriver of theirs would be
renewed by itself (NVIDIA/gpu-operator 26.7.0, GetUpgradePolicyWithDefaults)."""


def ways(site: Site, settings: AcceleratorSettings) -> Iterator[Finding]:
    """The chosen way can hand out every device of the site, at its Kubernetes version."""
    by_dra = settings.model_by is ModelBy.DRA
    without = [each for each in served_models(site) if by_dra and each.record.dra is None]
    # Nor does the model's device plugin make the model's own resource.
    lacking = [e.model for e in without if site.resource(e.model) != e.record.plugin.resource]
    if lacking:
        yield say("model-without-dra", ("accelerators", "model_by"), ", ".join(lacking))
    if by_dra or (not lacking and all_known(site) and completed_models(site)):
        yield from _too_old(site, by_dra=by_dra)


def expressions(site: Site) -> Iterator[Finding]:
    """A class's expressions take a device that lacks an attribute: else the first such device keeps
    every pod of the class from being scheduled, wherever that device is."""
    for place, text in each_at(site.file, "accelerators.models.*.dra.expressions.*"):
        if found := _BARE.search(text):
            yield say("expression-needs-attribute", place, found, place[2])


def _too_old(site: Site, *, by_dra: bool) -> Iterator[Finding]:
    cluster = site.file.cluster
    needs = [("kubernetes", cluster.kubernetes, OLDEST_DRA if by_dra else OLDEST)]
    if by_dra and cluster.workers:
        needs.append(("workers", cluster.workers, OLDEST))
    for field, version, oldest in needs:
        if minor(version) < oldest:
            said = _KEPT if by_dra and minor(version) == OLDEST else _NO_BETA
            other = "model_by: admission" if by_dra else "no accelerators"
            yield say("model-by-too-new", ("cluster", field), version, said, oldest, other)


def volcano(site: Site, scheduling: Scheduling) -> Iterator[Finding]:
    """Volcano looks for every resource of a pod on nodes: also for those that no node has, by
    admission, and for those that a DeviceClass stands for, by DRA. Kueue does so for its topology
    alone (Kueue 0.19.2, tas_flavor_snapshot.go), and nodes get those of admission for it."""
    if not all_known(site):
        return
    # A device plugin makes a model's own resource one of its nodes; a DRA driver makes none.
    others = {each.model for each in served_models(site) if site.uses_dra(each.model)
              or site.resource(each.model) != each.record.plugin.resource}  # fmt: skip
    absent = others - {*counted_models(site)}
    for index, backend in enumerate(scheduling.backends):
        pools = [pool for pool in site.file.pools if pool.name in backend.pools]
        models = dict.fromkeys(model for pool in pools if (model := site.model(pool)))
        mine = [each for each in models if each in absent]
        counts = backend.kind is BackendKind.KUEUE and backend.topology
        if mine and (counts or backend.kind is BackendKind.VOLCANO):
            way = "remove topology" if counts else "choose another backend for these pools"
            place = ("scheduling", "backends", index, "topology" if counts else "kind")
            yield say("volcano-without-resource", place, backend, site.resource(mine[0]), way)


def gpu_operator(
    site: Site, settings: AcceleratorSettings, operator: GpuOperator
) -> Iterator[Finding]:
    """The GPU operator has pools to serve, at a version that is known, with drivers to install."""
    if not all_known(site):
        return
    mine = operated_models(site)
    if not mine:
        yield say("gpu-operator-without-pools", OPERATOR)
        return
    reference = site.images.get(OPERATOR_IMAGE, "")
    tag, series = reference.partition("@")[0].rpartition(":")[2], OPERATOR_SERIES.rstrip(".")
    if tag and not tag.startswith(OPERATOR_SERIES):
        yield say("gpu-operator-version-unknown", OPERATOR, site, tag, series)
    for each in mine:
        if operator.drivers and each.record.driver is None:
            yield say("driver-missing", OPERATOR, each)
    if settings.model_by is ModelBy.DRA and operator.max_parallel_upgrades:
        yield say("parallel-upgrades-with-dra", (*OPERATOR, "max_parallel_upgrades"))


def operator_resources(site: Site, settings: AcceleratorSettings) -> Iterator[Finding]:
    """A model's settings of its plugin hold under the GPU operator, which runs its own."""
    for each in operated_models(site) if all_known(site) else ():
        own, plugin = each.model in settings.models, each.record.plugin
        at: Path = ("accelerators", "models", each.model, "plugin")
        slices = plugin.resource.startswith(MIG_RESOURCE) and not own
        if plugin.resource != OPERATOR_RESOURCE and not slices:
            place = (*at, "resource") if own else OPERATOR
            yield say("operator-resource-differs", place, each, OPERATOR_RESOURCE, plugin)
        for field in _OF_ITS_PROGRAM if own else ():
            if field in plugin.model_fields_set:
                yield say("operator-runs-own-plugin", (*at, field), each, field)


def operator_runtime(site: Site, settings: AcceleratorSettings) -> Iterator[Finding]:
    """The GPU operator makes one container runtime, for all its models."""
    if not all_known(site):
        return
    # The catalogue's models first: of two that differ the site's own can be changed.
    models = sorted(operated_models(site), key=lambda each: each.model in settings.models)
    named = [(each, each.record.runtime_class) for each in models]
    known = [(each, runtime) for each, runtime in named if runtime is not None]
    for each, runtime in known[1:]:
        first, common = known[0]
        if runtime == common:
            continue
        own = each.model in settings.models
        place = ("accelerators", "models", each.model, "runtime_class") if own else OPERATOR
        what = common if own else "the same in every model of NVIDIA"
        yield say("operator-runtime-differs", place, first, common, each, runtime, what)
