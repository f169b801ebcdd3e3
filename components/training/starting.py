"""How a job's pods come to start together, by whoever decides that on their pools.

- A kube-scheduler with the gang plugin reads annotations, the same on all pods.
- Volcano reads a PodGroup that the pods name; the queue is the team's.
- Kueue reads a label on the job, and starts it by taking ``suspend`` off.
- Without any of these pods start one by one.
"""

from components.making import gang
from components.making.manifest import Json, filled, prune
from components.training.setting import Setting
from schemas.model.vocabulary import BackendKind

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
LOCAL_QUEUE = "default"
"""The queue that every namespace of a team has."""
GROUP_ANNOTATION = "scheduling.k8s.io/group-name"


def _by(setting: Setting, kind: BackendKind) -> bool:
    return setting.backend is not None and setting.backend.kind is kind


def annotations(setting: Setting, kind: str, size: int) -> dict[str, str]:
    """The annotations of each pod of a gang of ``size`` pods; none for one pod alone."""
    if size < 2:
        return {}
    if _by(setting, BackendKind.VOLCANO):
        return {GROUP_ANNOTATION: setting.name}
    if setting.gang is None:
        return {}
    # Two jobs of one name and different kinds are two gangs.
    name = f"{kind.lower()}-{setting.name}"
    return gang.annotations(setting.gang, name, size, setting.request.timeout)


def labels(setting: Setting) -> dict[str, str]:
    """The labels of the job itself."""
    return {QUEUE_LABEL: LOCAL_QUEUE} if _by(setting, BackendKind.KUEUE) else {}


def suspension(setting: Setting) -> Json:
    """The field of the job's spec that makes it wait until a queue starts it, if it must."""
    return {"suspend": True} if _by(setting, BackendKind.KUEUE) else {}


def groups(setting: Setting, size: int) -> list[Json]:
    """The PodGroup that has to be there before the pods."""
    if size < 2 or not _by(setting, BackendKind.VOLCANO):
        return []
    (found,) = filled(
        __file__,
        name=setting.name,
        namespace=setting.namespace,
        size=size,
        queue=setting.team.name if setting.team else None,
        priority=setting.request.priority,
    )
    return [prune(found)]
