"""The pods of a job: workers, which have accelerators, and helpers, which have none."""

from components.making.manifest import Json, filled, prune
from components.making.object_cache_client import with_cache
from components.making.rdma import SHARED_MEMORY, SHARED_MEMORY_MOUNT
from components.making.taints import tolerations
from components.training import racks
from components.training.collectives import collective_settings
from components.training.request import Template
from components.training.room import SERVER_CPU, SERVER_MEMORY
from components.training.setting import Setting
from components.training.stopping import GRACE_SECONDS, wrap
from schemas.kubernetes.node_labels import POOL_LABEL

CHANNEL = {"name": "nvlink"}
"""The claim of a worker's channel of its ComputeDomain."""
INDEX_FIELD = "metadata.annotations['batch.kubernetes.io/job-completion-index']"


def resources(setting: Setting) -> Json:
    """The requests of a worker's container."""
    sizes = {
        "cpu": setting.cpu,
        "memory": setting.memory,
        setting.resource: str(setting.per_worker),
        **setting.needs.resources,
    }
    found = _with_storage(setting, sizes)
    return {**found, "claims": [CHANNEL]} if setting.has_domain else found


def helper_resources(setting: Setting, cpu: str = SERVER_CPU, memory: str = SERVER_MEMORY) -> Json:
    """The requests of the container of a pod without accelerators."""
    return _with_storage(setting, {"cpu": cpu, "memory": memory})


def _with_storage(setting: Setting, sizes: Json) -> Json:
    request, limit = ({"ephemeral-storage": each} for each in setting.storage)
    return {"requests": {**sizes, **request}, "limits": {**sizes, **limit}}


def container(setting: Setting, name: str, env: list[Json] | None = None) -> Json:
    """A worker's container, without what tells one template from another."""
    capabilities = setting.needs.capabilities
    return prune(
        {
            "name": name,
            "image": setting.request.image,
            "command": wrap(list(setting.request.command)) if setting.request.command else None,
            "env": env or None,
            "resources": resources(setting),
            "securityContext": {"capabilities": {"add": capabilities} if capabilities else None},
            "volumeMounts": [SHARED_MEMORY_MOUNT],
        }
    )


def worker(setting: Setting, box: Json, gang: dict[str, str]) -> Json:
    """The template of a worker with one container and the annotations of its gang. A TrainJob says
    itself where its workers go together, as others may share its runtime."""
    claim = {**CHANNEL, "resourceClaimTemplateName": setting.name}
    placing = setting.placing()
    if setting.request.template is not Template.ALL_REDUCE_TRAINJOB:
        placing["affinity"] = {**placing.get("affinity", {}), **racks.affinity(setting)}
        gang = {**gang, **racks.annotations(setting)}
    nccl = [value(name, text) for name, text in collective_settings(setting).items()]
    if nccl:
        box = {**box, "env": [*nccl, *box.get("env", [])]}
    network = {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    own: Json = {
        **placing,
        "tolerations": tolerations(setting.pools) or None,
        **(network if setting.needs.host_network else {}),
        "containers": [box],
        "resourceClaims": [claim] if setting.has_domain else None,
        "volumes": [SHARED_MEMORY],
    }
    if setting.cache is not None:
        own = with_cache(own, setting.cache)
    return _template(setting, {**setting.needs.annotations, **gang}, own)


def helper(setting: Setting, box: Json, gang: dict[str, str]) -> Json:
    """The template of a pod without accelerators, such as a parameter server."""
    pool = setting.helper_pool
    own: Json = {
        "nodeSelector": {POOL_LABEL: pool.name} if pool else None,
        "tolerations": (tolerations([pool]) if pool else []) or None,
        "containers": [box],
    }
    return _template(setting, gang, own)


def _template(setting: Setting, annotations: dict[str, str], own: Json) -> Json:
    values = {"scheduler": setting.scheduler_name, "priority": setting.request.priority}
    (found,) = filled(__file__, annotations=annotations, grace=GRACE_SECONDS, own=own, **values)
    return prune(found)


def value(name: str, text: str | int) -> Json:
    """An environment variable."""
    return {"name": name, "value": str(text)}


def index(name: str) -> Json:
    """An environment variable that is the index of the pod in its Job."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": INDEX_FIELD}}}
