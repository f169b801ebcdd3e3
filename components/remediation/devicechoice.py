"""The check of hosts whose container runtime lets images choose their GPUs: no fault that a repair
helps, and so no condition, but events of the node and a counter.

Sources: NVIDIA Container Toolkit 1.20, internal/config (top level of the file; true by default),
cmd/nvidia-ctk-installer (the operator's place of it); node-problem-detector 1.36.0,
pkg/custompluginmonitor (a temporary rule is an event and a count at each run).
"""

import json

from components.making.dump import dump_json
from components.making.faults import CHOICE_REASON
from components.remediation.checks import HOST, PROGRAMS, SCRIPTS
from schemas.facts.feature_gates import uses_gpu_operator
from schemas.facts.site import Site
from schemas.model.site_file import Pool

FILE, SCRIPT = "device-choice.json", "device-choice.sh"
CONFIG = "/etc/nvidia-container-runtime/config.toml"
OPERATOR_CONFIG = "/usr/local/nvidia/toolkit/.config/nvidia-container-runtime/config.toml"
RUNTIME = "nvidia"
"""The vendor whose runtime it is."""


def files(site: Site, pool: Pool) -> dict[str, str]:
    """The monitor of a pool with NVIDIA's devices, and its script; none for another pool."""
    model = site.model(pool)
    if not model or site.accelerators[model].vendor != RUNTIME:
        return {}
    # The operator installs its toolkit some time after a host has started.
    operated = uses_gpu_operator(site, model)
    given = ["2", OPERATOR_CONFIG] if operated else ["1", CONFIG]
    monitor = json.loads((SCRIPTS / FILE).read_text("utf-8"))
    monitor["rules"][0] |= {
        "reason": CHOICE_REASON,
        "path": f"{PROGRAMS}/{SCRIPT}",
        "args": [given[0], f"{HOST}{given[1]}"],
    }
    return {FILE: dump_json(monitor, indent=1), SCRIPT: (SCRIPTS / SCRIPT).read_text("utf-8")}
