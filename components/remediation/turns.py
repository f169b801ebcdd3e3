"""The program that gives nodes their repair slots: its settings, and its Deployment."""

import json

from components.making.faults import CONDITIONS
from components.making.manifest import Json, Manifest, config_map
from components.remediation.names import TURNS, own, remediated_pools, settings_of
from components.remediation.program import program
from schemas.facts.site import Site
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Fault

CONFIG = "settings.json"
CONFIG_MAP = f"{TURNS}-config"


def turns(site: Site) -> list[Manifest]:
    """The settings, and what runs the program."""
    environment = {"SETTINGS": f"/config/{CONFIG}"}
    return [
        config_map(CONFIG_MAP, own(site, TURNS, CONFIG_MAP), {CONFIG: configuration(site)}),
        program(site, TURNS, "slots", environment, CONFIG_MAP),
    ]


def configuration(site: Site) -> str:
    """The settings that the program reads anew in each round (node_repair/settings.py)."""
    settings, plane = settings_of(site), site.control_plane
    pools: dict[str, Json] = {}
    for remediator, pool in remediated_pools(site):
        mine = pools.setdefault(pool.name, {"limits": {}, "repairs": []})
        mine["limits"][remediator.name] = remediator.max_unavailable
        if site.profile(pool).nvlink_domain:
            mine["by_rack"] = True
        for fault in site.repairs(pool, remediator):
            repair = [fault, CONDITIONS[fault], remediator.name]
            if fault == Fault.PCIE_LINK_DEGRADED and (few := _tainted_up_to(site, pool)):
                mine.setdefault("by_number", []).append([*repair, few])
            else:
                mine["repairs"].append(repair)
    found = {
        "attempts": settings.reboot.attempts,
        "window": 3600 * settings.reboot.window_hours,
        "verdict": settings.reboot.timeout_seconds,
        "percent": settings.max_faulty_percent,
        "control_plane": [plane.name, site.replicas(plane)],
        "pools": pools,
    }
    return json.dumps(found, indent=1) + "\n"


def _tainted_up_to(site: Site, pool: Pool) -> int:
    """Bad devices of one host of a pool that are tainted one by one; 0 where no number says so.
    At most half of the host's are and ``max_faulty_percent`` of the pool's, but always one."""
    settings, devices = settings_of(site), site.profile(pool).accelerators
    counted = settings.bad_devices
    if not (counted and devices and site.taints_devices(pool)):
        return 0
    share = devices.count * site.replicas(pool) * settings.max_faulty_percent // 100
    return min(counted.taint_up_to, max(1, min(devices.count // 2, share)))
