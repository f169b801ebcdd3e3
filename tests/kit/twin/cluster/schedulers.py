"""Schedulers: a binary, its configuration as a site has it, and what of that the twin sets."""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from controlplane.access import write_private
from controlplane.client import Manifest
from controlplane.errors import ControlPlaneError
from controlplane.flags import gate_list
from controlplane.ports import free_port
from tests.kit.twin.cluster.process import OPEN_PATHS, Program, serving

DEFAULT_NAME = "kube-scheduler"
PLAIN_CONFIG: Manifest = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}
_QPS, _BURST = 1000, 2000
"""Kubernetes' 50 and 100 would be what a measurement on one machine measures."""


@dataclass(frozen=True, slots=True)
class Scheduler:
    """One scheduler beside the default one.

    ``name`` is that of its process and log, unique in a twin; the ``schedulerName`` is in
    ``config``, a KubeSchedulerConfiguration as text or as data. Of that the twin sets the
    kubeconfig, requests per second where the text says nothing of them, and that no leader is
    elected unless ``elect``.

    ``command`` is what follows the binary. ``account`` is the namespace and the name of the service
    account whose token it gets, so that its rights are those of a cluster; None gives it all.
    ``plugin_args`` are put over the arguments of plugins, and in them ``{kubeconfig}`` and
    ``{address}`` (of the loopback, with a free port) are filled in. ``gated`` ones get the twin's
    feature gates, which another minor of Kubernetes may not know. ``held_ports`` are kept from it.
    It counts as started when ``health`` answers: a replica that waits to lead is never ready, and
    for such ones that is ``/livez``.
    """

    name: str
    binary: Path
    config: str | Manifest
    command: tuple[str, ...] = ()
    account: tuple[str, str] | None = None
    plugin_args: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    gated: bool = False
    elect: bool = False
    held_ports: tuple[int, ...] = ()
    health: str = "/readyz"


def scheduler_program(
    scheduler: Scheduler, directory: Path, kubeconfig: Path, gates: Mapping[str, bool]
) -> Program:
    """How ``scheduler`` is run in the control plane of ``directory``."""
    config = directory / f"{scheduler.name}.yaml"
    mark = f"--config={config}"
    flags = [mark, "--bind-address=127.0.0.1", OPEN_PATHS, *serving(directory)]
    if scheduler.account:
        # As in a cluster, where it asks the API server with its own rights who is asking.
        flags.append(f"--authentication-kubeconfig={kubeconfig}")
        flags.append(f"--authorization-kubeconfig={kubeconfig}")
    if scheduler.gated and gates:
        flags.append(f"--feature-gates={','.join(gate_list(gates))}")

    def command(port: int) -> list[str | Path]:
        body = twin_configuration(scheduler, kubeconfig, f"127.0.0.1:{free_port()}")
        write_private(config, yaml.safe_dump(body, sort_keys=False))
        return [scheduler.binary, *scheduler.command, *flags, f"--secure-port={port}"]

    return Program(scheduler.name, mark, command, scheduler.health)


def twin_configuration(scheduler: Scheduler, kubeconfig: Path, address: str) -> Manifest:
    """The configuration of ``scheduler`` with what the twin sets in it.

    Raises ControlPlaneError where ``plugin_args`` names a plugin that the configuration gives no
    arguments: they would be ignored.
    """
    given = scheduler.config
    body: Manifest = yaml.safe_load(given) if isinstance(given, str) else copy.deepcopy(given)
    connection = body.setdefault("clientConnection", {})
    connection["kubeconfig"] = str(kubeconfig)
    connection.setdefault("qps", _QPS)
    connection.setdefault("burst", _BURST)
    if not scheduler.elect:
        body.setdefault("leaderElection", {})["leaderElect"] = False
    for plugin, wanted in scheduler.plugin_args.items():
        found = list(_arguments(body, plugin))
        if not found:
            message = f"the configuration of {scheduler.name} has no arguments for {plugin}"
            raise ControlPlaneError(message, "name a plugin that pluginConfig has in plugin_args")
        for key, value in wanted.items():
            # Where one profile of several sets it, the others leave it out for a reason.
            chosen = [arguments for arguments in found if key in arguments] or found
            for arguments in chosen:
                arguments[key] = value.format(kubeconfig=kubeconfig, address=address)
    return body


def _arguments(body: Manifest, plugin: str) -> Iterator[dict[str, Any]]:
    """The arguments of ``plugin`` in each profile that has any."""
    for profile in body.get("profiles", ()):
        for each in profile.get("pluginConfig", ()):
            if each["name"] == plugin:
                yield each.setdefault("args", {})
