"""Keeps the workers of a job in one rack: by affinity to each other, or by Kueue's annotations.

The first worker is placed as any pod, and the others follow it. If they do not fit there, a
scheduler with gangs, or Kueue without a topology, gives all places back and tries again; which rack
comes next is by chance.

Sources: Kubernetes 1.34, pkg/scheduler/framework/plugins/interpodaffinity (the first pod of a group
that matches itself may go anywhere); JobSet 0.12, api/jobset/v1alpha2/jobset_types.go (labels);
Kueue 0.19.2, apis/kueue/v1beta2/topology_types.go, pkg/scheduler/flavorassigner/
tas_flavorassigner.go (a pod without such an annotation gets no flavour with a topology).
"""

from collections.abc import Iterator

from components.making.manifest import Json, filled
from components.training.request import Rack, Refusal, Template, refusal
from components.training.setting import Setting
from schemas.facts.racks import in_two_zones
from schemas.kubernetes.node_labels import RACK_LABEL
from schemas.model.scheduling import Backend
from schemas.model.vocabulary import BackendKind, TopologyLevel

_ANNOTATION = "kueue.x-k8s.io/podset-{}-topology"
_JOB, _SET = "batch.kubernetes.io/job-name", "jobset.sigs.k8s.io/jobset-name"
_PART = "jobset.sigs.k8s.io/replicatedjob-name"
_WEIGHT = 100


def placement(setting: Setting) -> Rack:
    """The placement that the request asks for. By default one rack is required of hosts that share
    NVLink where the job fits there, and preferred where the model's backend has a topology."""
    asked, topology = setting.request.rack, _topology(setting.backend)
    if asked is not None:
        return Rack(asked)
    if setting.shares_nvlink and setting.request.workers <= largest(setting):
        return Rack.REQUIRED
    return Rack.PREFERRED if topology or setting.shares_nvlink else Rack.ANY


def domain(setting: Setting) -> list[Json]:
    """The ComputeDomain of workers on hosts that share NVLink: NVIDIA's DRA driver makes the claim
    template of its name (dra-driver-nvidia-gpu 0.4.1, api/nvidia.com/resource/v1beta1)."""
    if not setting.has_domain:
        return []
    return filled(__file__, name=setting.name, namespace=setting.namespace)


def annotations(setting: Setting) -> dict[str, str]:
    """What Kueue reads on workers; its topology has an answer for each of them."""
    if not _by_topology(setting):
        return {}
    found = placement(setting)
    if found is Rack.ANY:
        return {_ANNOTATION.format("unconstrained"): "true"}
    return {_ANNOTATION.format(found.value): RACK_LABEL}


def affinity(setting: Setting) -> Json:
    """The affinity of workers to each other; none of one worker alone. Kueue gives back the places
    of a job whose pods do not all fit in the rack in time (waitForPodsReady)."""
    found = placement(setting)
    if found is Rack.ANY or _by_topology(setting) or setting.request.workers < 2:
        return {}
    request = setting.request
    part = "worker" if request.template is Template.PARAMETER_SERVER else "node"
    labels = {_SET: setting.name, _PART: part}
    if request.template is Template.ALL_REDUCE:
        labels = {_JOB: setting.name}
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": RACK_LABEL}
    if found is Rack.REQUIRED:
        return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    preferred = {"weight": _WEIGHT, "podAffinityTerm": term}
    return {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}}


def largest(setting: Setting) -> int:
    """The most workers that one rack holds. Spares count too, as any host may be one."""
    found: dict[str, int] = {}
    for pool, here in zip(setting.pools, setting.rooms, strict=True):
        each = setting.fit(here)
        for host in setting.site.hosts_of(pool):
            found[host.rack] = found.get(host.rack, 0) + each
    return max(found.values(), default=0)


def faults(setting: Setting) -> Iterator[Refusal]:
    """A job that must be in one rack fits there."""
    request = setting.request
    hosts = (host for pool in setting.pools for host in setting.site.hosts_of(pool))
    if request.rack not in {None, *Rack}:
        yield refusal("no_rack", given=request.rack, known=", ".join(Rack))
    elif placement(setting) is not Rack.ANY and (double := next(in_two_zones(hosts), None)):
        yield refusal("ambiguous_racks", host=double[0].name)
    elif _crowded(setting):
        yield refusal("crowded_host", most=setting.most)
    elif request.rack == Rack.REQUIRED and (most := largest(setting)) < request.workers:
        values = {"most": most, "model": request.model, "preferred": Rack.PREFERRED}
        yield refusal("larger_than_rack", **values)


def _crowded(setting: Setting) -> bool:
    """True if Kueue, which knows nothing of channels (tas_flavorassigner.go counts the resources of
    pods), may choose one host for two workers of a ComputeDomain: the second would wait there."""
    chosen = setting.backend.topology if setting.backend and _by_topology(setting) else ()
    fitting = (setting.fit(here, channels=False) for here in setting.rooms)
    return TopologyLevel.HOST in chosen and setting.has_domain and max(fitting, default=0) > 1


def note(setting: Setting) -> list[str]:
    """Where the workers go, in a sentence; none where nothing keeps them together."""
    found = placement(setting)
    if found is Rack.ANY or setting.request.workers < 2:
        return []
    most = largest(setting)
    if found is Rack.REQUIRED:
        return [f"All workers are in one rack, or none starts: the largest holds {most}."]
    if most < setting.request.workers:
        return [f"No rack holds all workers: the largest holds {most}; others go elsewhere."]
    return ["Workers go into one rack where they fit there, and else into several."]


def _topology(backend: Backend | None) -> bool:
    return backend is not None and TopologyLevel.RACK in backend.topology


def _by_topology(setting: Setting) -> bool:
    """True if Kueue places the workers by its topology."""
    backend = setting.backend
    return backend is not None and backend.kind is BackendKind.KUEUE and _topology(backend)
