"""The command line: ``node-repair slots``, ``devices`` or ``reboot``, told by the environment."""

import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event

from node_repair import devices, metrics
from node_repair.cluster import Cluster, ClusterError
from node_repair.lease import Lease, LeaseLost
from node_repair.reboot import Reboot
from node_repair.slots import Slots

LOG = logging.getLogger("node_repair")


def loop(ended: Event, make: Callable[[Cluster, Callable[[], None]], Callable[[], bool]]) -> None:
    """Run rounds until ``ended``, while this replica leads. ``make`` gets the cluster and what
    fences each change.

    Environment: NAMESPACE and NAME of the Lease; INTERVAL between two rounds, seconds; PORT of
    metrics and probes, 0 for none; KUBECONFIG, else the pod's own account.
    """
    cluster = Cluster(os.environ.get("KUBECONFIG", ""))
    replica = os.environ.get("HOSTNAME") or socket.gethostname()
    lease = Lease(cluster, os.environ["NAMESPACE"], os.environ["NAME"], replica)
    round_ = make(cluster, lease.check)
    if port := int(os.environ.get("PORT", "0")):
        metrics.serve(port, lambda: cluster.begun, lambda: lease.good)
    interval = float(os.environ.get("INTERVAL", "20"))
    while not ended.is_set():
        try:
            leads = lease.hold()
            metrics.LEADS.set(leads)
            if leads:
                good = round_()
                metrics.ROUNDS.labels("good" if good else "partly").inc()
                lease.good = int(time.time()) if good else lease.good
        except LeaseLost as error:
            LOG.info("%s", error)
        except (ClusterError, OSError, ValueError) as error:
            metrics.ROUNDS.labels("failed").inc()
            LOG.warning("the round failed: %s", error)
        ended.wait(interval)
    try:
        lease.release()
    except ClusterError as error:
        LOG.info("the Lease was not released: %s", error)


def run() -> None:
    """Run the program that the command line names, until SIGTERM or its end."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    logging.Formatter.converter = time.gmtime
    ended = Event()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    match sys.argv[1:]:
        case ["slots"]:
            namespace, settings = os.environ["NAMESPACE"], Path(os.environ["SETTINGS"])
            loop(ended, lambda cluster, fence: Slots(cluster, namespace, settings, fence).round)
        case ["devices"]:
            limits = devices.Limits.read(os.environ)
            loop(ended, lambda cluster, fence: partial(devices.round_of, limits, cluster, fence))
        case ["reboot"]:
            sys.exit(Reboot.read(os.environ, ended).run())
        case _:
            sys.exit(f"{__doc__}")


if __name__ == "__main__":
    run()
