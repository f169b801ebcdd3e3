"""mpi: workers with an SSH server, and a launcher whose mpirun starts processes on them."""

from components.making.manifest import Json, filled
from components.making.told import Told
from components.training import starting
from components.training.collectives import collective_settings
from components.training.job import metadata
from components.training.jobset import replicated_job
from components.training.pods import container, helper, helper_resources, value, worker
from components.training.room import LAUNCHER_CPU, LAUNCHER_MEMORY
from components.training.setting import Setting
from components.training.stopping import LAUNCHER_RESTARTS, restarting, wrap
from components.training.trainjob import NODE, STEP_LABEL

LAUNCHER = "launcher"
KEYS = "/etc/mpi-ssh"
SSH_PORT = 2222
"""Not that of SSH: with the host's network that is taken by the host's own server."""
SERVE, LAUNCH = (Told(__file__).say(each, keys=KEYS, port=SSH_PORT) for each in ("serve", "launch"))


def manifests(setting: Setting) -> list[Json]:
    """The job's objects, in the order in which they are to be made."""
    workers = setting.request.workers
    launcher = replicated_job(LAUNCHER, 1, _launcher(setting))
    launcher["dependsOn"] = [{"name": NODE, "status": "Ready"}]
    launcher["template"]["metadata"] = {"labels": {STEP_LABEL: "trainer"}}
    made = filled(
        __file__,
        name=setting.name,
        namespace=setting.namespace,
        metadata=metadata(setting),
        suspension=starting.suspension(setting),
        image=setting.request.image,
        command=_launch(setting),
        workers=workers,
        per_worker=setting.per_worker,
        keys=KEYS,
        failure=restarting(LAUNCHER_RESTARTS),
        node=replicated_job(NODE, workers, _worker(setting)),
        launcher=launcher,
    )
    return [*starting.groups(setting, workers), *made]


def _worker(setting: Setting) -> Json:
    box = container(setting, NODE)
    box["command"] = wrap(["/bin/sh", "-c", SERVE])
    box["readinessProbe"] = {"tcpSocket": {"port": SSH_PORT}}
    gang = starting.annotations(setting, "TrainJob", setting.request.workers)
    return worker(setting, box, gang)


def _launcher(setting: Setting) -> Json:
    box = {
        "name": NODE,
        "image": setting.request.image,
        "env": [value("OMPI_ALLOW_RUN_AS_ROOT", 1), value("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", 1)],
        "resources": helper_resources(setting, LAUNCHER_CPU, LAUNCHER_MEMORY),
    }
    return helper(setting, box, {})


def _launch(setting: Setting) -> list[str]:
    passed = setting.cache.variables() if setting.cache else {}
    passed = {**passed, **collective_settings(setting)}
    exports = [word for name, text in passed.items() for word in ("-x", f"{name}={text}")]
    arguments = ["-np", str(setting.devices), *exports, *setting.request.command]
    return wrap(["/bin/sh", "-c", LAUNCH, "mpirun", *arguments])
