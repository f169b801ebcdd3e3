"""all-reduce: equal workers in one plain Job, found by name through a headless Service."""

import hashlib

from components.making.manifest import Json, filled, prune
from components.training import starting
from components.training.pods import container, index, value, worker
from components.training.setting import Setting
from components.training.stopping import returning

PORT = 29500
"""Where the first worker listens: torchrun's own."""
_FIRST_PORT, _PORTS = 20_000, 10_000
"""Ports below those that Linux gives to connections that go out."""


def manifests(setting: Setting) -> list[Json]:
    """The job's objects, in the order in which they are to be made."""
    workers = setting.request.workers
    box = container(setting, "worker", _environment(setting))
    template = worker(setting, box, starting.annotations(setting, "Job", workers))
    template["spec"]["subdomain"] = setting.name
    made = filled(
        __file__,
        name=setting.name,
        namespace=setting.namespace,
        metadata=metadata(setting),
        suspension=starting.suspension(setting),
        ending=returning(workers),
        template=template,
    )
    return [*starting.groups(setting, workers), *made]


def metadata(setting: Setting) -> Json:
    """The metadata of the object that a queue starts."""
    own = {"name": setting.name, "namespace": setting.namespace}
    return prune({**own, "labels": starting.labels(setting)})


def port(setting: Setting) -> int:
    """The port where workers listen; on the network of their host each job has another."""
    if not setting.needs.host_network:
        return PORT
    digest = hashlib.sha256(f"{setting.namespace}/{setting.name}".encode()).digest()
    return _FIRST_PORT + int.from_bytes(digest[:4], "big") % _PORTS


def _environment(setting: Setting) -> list[Json]:
    """The variables that torchrun and torch.distributed read."""
    return [
        value("MASTER_ADDR", f"{setting.name}-0.{setting.name}"),
        value("MASTER_PORT", port(setting)),
        value("WORLD_SIZE", setting.devices),
        index("NODE_RANK"),
        value("PET_NNODES", setting.request.workers),
        value("PET_NPROC_PER_NODE", setting.per_worker),
        value("PET_NODE_RANK", "$(NODE_RANK)"),
        value("PET_MASTER_ADDR", "$(MASTER_ADDR)"),
        value("PET_MASTER_PORT", "$(MASTER_PORT)"),
    ]
