"""A whole cluster without machines: the trial API server, with what acts on its objects.

Owns a real controller manager, real schedulers, and KWOK, which plays the nodes: a node is an
object that gets ready, and a pod that is bound to it runs until it is deleted or as long as its
annotations say. Everything listens on the loopback and ends with the process that started it.
Linux alone.
"""

from tests.kit.twin.cluster.controllers import Controller
from tests.kit.twin.cluster.kwok import DOWN, EXIT_CODE, RUN_FOR
from tests.kit.twin.cluster.run import Parts, Twin, twin
from tests.kit.twin.cluster.schedulers import Scheduler

__all__ = ["DOWN", "EXIT_CODE", "RUN_FOR", "Controller", "Parts", "Scheduler", "Twin", "twin"]
