"""parameter-server: two Jobs of one JobSet, whose pods are one gang."""

import json

from components.making.manifest import Json, filled
from components.training import starting
from components.training.job import metadata, port
from components.training.pods import container, helper, helper_resources, index, value, worker
from components.training.setting import Setting
from components.training.stopping import failing, restarting

SERVER, WORKER = "ps", "worker"
"""The replicated jobs: what TF_CONFIG calls their tasks too."""
INDEX = "TASK_INDEX"


def manifests(setting: Setting) -> list[Json]:
    """The job's objects, in the order in which they are to be made."""
    servers, workers = setting.request.server_count, setting.request.workers
    gang = starting.annotations(setting, "JobSet", servers + workers)
    server = container(setting, SERVER, _environment(setting, SERVER))
    server["resources"] = helper_resources(setting)
    for rdma_only in ("securityContext", "volumeMounts"):
        server.pop(rdma_only, None)
    box = container(setting, WORKER, _environment(setting, WORKER))
    made = filled(
        __file__,
        metadata=metadata(setting),
        suspension=starting.suspension(setting),
        failure=restarting(),
        servers=replicated_job(SERVER, servers, helper(setting, server, gang)),
        workers=replicated_job(WORKER, workers, worker(setting, box, gang)),
    )
    return [*starting.groups(setting, servers + workers), *made]


def replicated_job(name: str, pods: int, template: Json) -> Json:
    """A Job of so many pods, in a JobSet."""
    spec = {**failing(pods), "template": template}
    return {"name": name, "replicas": 1, "template": {"spec": spec}}


def tf_config(setting: Setting, kind: str) -> str:
    """TF_CONFIG of a kind of task; the kubelet puts the pod's index in."""
    counts = {SERVER: setting.request.server_count, WORKER: setting.request.workers}
    cluster = {
        part: [f"{setting.name}-{part}-0-{n}.{setting.name}:{port(setting)}" for n in range(count)]
        for part, count in counts.items()
    }
    text = json.dumps({"cluster": cluster, "task": {"type": kind, "index": 0}})
    return text.replace('"index": 0', f'"index": $({INDEX})')


def _environment(setting: Setting, kind: str) -> list[Json]:
    return [index(INDEX), value("TF_CONFIG", tf_config(setting, kind))]
