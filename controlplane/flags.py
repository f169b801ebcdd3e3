"""The command lines of the two servers: a real API server with what a trial does not need off."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ETCD_CLIENTS, ETCD_PEERS = "etcd:2379", "etcd:2380"
"""Names of sockets in the servers' working directory. etcd has no passwords: behind a socket in a
folder of its owner's it needs none, and behind a port of the loopback every user of the machine
could write into it. Relative names, because the path of a socket may have 107 characters."""

BETA = ("admissionregistration.k8s.io/v1beta1=true",)
"""APIs that are off in this minor and that sites may use where they are on."""
FEATURES = ("MutatingAdmissionPolicy=true",)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one control plane besides the common ones.

    ``gates`` are feature gates and ``runtime`` further APIs (``group/version=true``).
    ``service_accounts`` has admission ask for the service account of each pod, which only a
    controller manager makes. ``tied_to_parent`` servers end with the process that starts them.
    """

    gates: Mapping[str, bool] = field(default_factory=dict)
    runtime: tuple[str, ...] = ()
    service_accounts: bool = False
    tied_to_parent: bool = False


TABLE: dict[str, list[str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
Command = list[str | Path]
PLAIN = Options()
"""Options of a trial."""


def gate_list(gates: Mapping[str, bool]) -> list[str]:
    """Feature gates as the servers' flag takes them."""
    return [f"{name}={str(on).lower()}" for name, on in gates.items()]


def given(name: str, **values: object) -> list[str]:
    """The arguments of one name in flags.toml, with values in their places."""
    return [each.format(**values) for each in TABLE[name]]


def mark(name: str, directory: Path) -> str:
    """The argument by which a server of this directory is known."""
    return TABLE[name][0].format(directory=directory)


def etcd(binary: Path, directory: Path) -> Command:
    """The command line of etcd."""
    values = {"directory": directory, "clients": ETCD_CLIENTS, "peers": ETCD_PEERS}
    return [binary, *given("etcd", **values)]


def apiserver(binary: Path, directory: Path, port: int, options: Options = PLAIN) -> Command:
    """The command line of kube-apiserver."""
    # Nobody makes the accounts that it waits for where there is no controller manager.
    admission = [] if options.service_accounts else ["--disable-admission-plugins=ServiceAccount"]
    return [
        binary,
        *given("apiserver", clients=ETCD_CLIENTS, port=port, directory=directory),
        *admission,
        *given("alone"),
        f"--runtime-config={','.join((*BETA, *options.runtime))}",
        f"--feature-gates={','.join((*FEATURES, *gate_list(options.gates)))}",
    ]
