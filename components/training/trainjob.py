"""all-reduce-trainjob: a TrainJob on a runtime of the site."""

from pathlib import Path
from typing import Any

from components.making.manifest import Json, documents, fill, filled, hash_name, prune
from components.making.object_cache_client import CacheClient, mount
from components.training import racks, starting
from components.training.fitting import has_users
from components.training.job import metadata
from components.training.pods import container, resources, worker
from components.training.setting import Setting
from components.training.stopping import failing, restarting
from schemas.kubernetes.node_labels import OWN_DOMAIN

API = "trainer.kubeflow.org/v1alpha1"
NODE = "node"
"""Trainer's name for a worker: of the replicated job and of its container."""
STEP_LABEL = "trainer.kubeflow.org/trainjob-ancestor-step"
MANAGER = f"{OWN_DOMAIN}/job"
"""Whose patch it is: Kueue writes one of its own beside it."""
_LONGEST = 63
_RUNTIME, _TRAIN_JOB, _PATCH = documents(__file__)


def manifests(setting: Setting) -> list[Json]:
    """The job's objects, in the order in which they are to be made."""
    workers = setting.request.workers
    # A patch can name neither of these, and only the site's teams have runtimes.
    own = setting.request.priority is not None or setting.has_domain
    own = own or not has_users(setting.site, setting.request.model)
    found = starting.groups(setting, workers)
    if own:
        named = {"name": setting.name, "namespace": setting.namespace}
        found.append(fill(_RUNTIME, {**named, "spec": runtime_spec(setting)}))
    return [*found, _train_job(setting, own=own)]


def runtime_name(model: str, *, rdma: bool) -> str:
    """The ClusterTrainingRuntime of a model, with RDMA or without."""
    name = f"all-reduce-{model}{'-rdma' if rdma else ''}"
    return name if len(name) <= _LONGEST else hash_name(name[: _LONGEST - 9], {"name": name})


def runtime_spec(setting: Setting) -> Json:
    """The common part of all jobs on a model; sizes are defaults, which a TrainJob replaces."""
    box = container(setting, NODE)
    for own in ("image", "command"):
        box.pop(own, None)
    template, pod = Path(__file__).with_name("runtime.yaml"), worker(setting, box, {})
    return filled(template, failure=restarting(), ending=failing(), pod=pod)[0]


def _train_job(setting: Setting, *, own: bool) -> Json:
    request = setting.request
    # A runtime of the job's own has it in its pods.
    client = None if own else setting.cache
    added = {
        **setting.needs.annotations,
        **starting.annotations(setting, "TrainJob", request.workers),
        **racks.annotations(setting),
    }
    near = racks.affinity(setting)
    values = {
        "metadata": metadata(setting),
        "suspension": starting.suspension(setting),
        "kind": "TrainingRuntime" if own else "ClusterTrainingRuntime",
        "runtime": setting.name if own else runtime_name(request.model, rdma=request.rdma),
        "image": request.image,
        "command": container(setting, NODE).get("command"),
        "workers": request.workers,
        "per_worker": setting.per_worker,
        "resources": resources(setting),
        "env": client.environment() if client else None,
        "patches": [_patch(added, near, client)] if added or near or client else None,
    }
    return prune(fill(_TRAIN_JOB, values))


def _patch(annotations: dict[str, str], affinity: Json, client: CacheClient | None) -> Any:
    """Annotations on the workers' pods, their affinity, and their token for the cache."""
    pod: Json = {"metadata": {"annotations": annotations}} if annotations else {}
    if affinity:
        pod["spec"] = {"affinity": affinity}
    if client is not None:
        box = {"name": NODE, "volumeMounts": [mount()]}
        pod["spec"] = {**pod.get("spec", {}), "containers": [box], "volumes": [client.volume()]}
    return fill(_PATCH, {"manager": MANAGER, "pod": pod})
