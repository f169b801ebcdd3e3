"""``python -m tests.real.live.metal3 OUT ROOT SITE``: a site's hosts get addresses and network data
from the real controllers of Metal3 (metal3_world.py); what they made as JSON in OUT.
"""

import time
from pathlib import Path
from typing import Any

from components.site import site_objects
from schemas.load import load_site
from tests.real.live import metal3_world, world
from tests.real.live.namespace import record
from tests.real.live.patch import merge

KINDS = {
    "BareMetalHost": "metal3.io/v1alpha1",
    "IPAddress": "ipam.metal3.io/v1alpha1",
    "IPClaim": "ipam.metal3.io/v1alpha1",
    "IPPool": "ipam.metal3.io/v1alpha1",
    "Machine": world.CLUSTER,
    "Metal3Cluster": "infrastructure.cluster.x-k8s.io/v1beta2",
    "Metal3Data": "infrastructure.cluster.x-k8s.io/v1beta2",
    "Metal3DataTemplate": "infrastructure.cluster.x-k8s.io/v1beta2",
    "Metal3Machine": "infrastructure.cluster.x-k8s.io/v1beta2",
    "Node": "v1",
    "Secret": "v1",
}
"""The kinds that a run reports, with their API versions."""


def main(out: Path, root: str, name: str) -> dict[str, Any]:
    """Bring the site up."""
    clock = time.monotonic()
    loaded = load_site(Path(root), name)
    if loaded.site is None:
        raise AssertionError(f"check refuses it: {[str(each) for each in loaded.problems]}")
    with metal3_world.running(name, out) as here:
        started = time.monotonic() - clock
        here.bring_up(list(site_objects(loaded.site)["machines"]))
        ready = time.monotonic() - clock
        found: dict[str, Any] = {kind: here.client.items(api, kind) for kind, api in KINDS.items()}
        found["said"] = _ask_for_one_more(here)
    found["seconds"] = {"started": started, "site": ready, "all": time.monotonic() - clock}
    return found


def _ask_for_one_more(here: metal3_world.Metal3World) -> list[str]:
    """Have a pool want more machines than it has hosts; what its objects say of that."""
    pools = here.mirror.all("MachineDeployment")
    if not pools:
        return []
    merge(here.client, pools[0], {"spec": {"replicas": pools[0]["spec"]["replicas"] + 1}})
    here.wait("words", lambda: any("host found" in each for each in here.said()))
    return list(here.said())


if __name__ == "__main__":
    record(main)
