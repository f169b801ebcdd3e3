"""The program that gives nodes their turns: its configuration, and the Deployment that runs it."""

import hashlib

from components.making.faults import CONDITIONS
from components.making.manifest import Json, Manifest, Target
from components.remediation.names import TURNS, own, remediated_pools, settings_of
from components.remediation.scripted import INTERVAL_SECONDS, SILENT_SECONDS, Scripted
from schemas.facts.site import Site

PROGRAM = ("turns.sh", "turns.awk", "nodepatch.awk")
CONFIG = "turns.conf"
CONFIG_MAP = f"{TURNS}-config"
MEMORY = "1Gi"
"""kubectl holds what it lists: for ten thousand pods."""


def turns(site: Site) -> list[Manifest]:
    """The program, its lines, and what runs it."""
    environment = {
        "TURNS_NAMESPACE": settings_of(site).namespace,
        "TURNS_CONFIG": f"/config/{CONFIG}",
        "TURNS_STATE": "/state",
        "TURNS_INTERVAL": str(INTERVAL_SECONDS),
    }
    program = Scripted(TURNS, PROGRAM, environment, MEMORY, _not_older, CONFIG_MAP)
    lines = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {**own(site, TURNS), "name": CONFIG_MAP},
        "data": {CONFIG: configuration(site)},
    }
    digest = hashlib.sha256("".join(program.texts().values()).encode()).hexdigest()
    return [
        program.config_map(site),
        Manifest(f"ConfigMap/{CONFIG_MAP}", lines, target=Target.SITE),
        program.deployment(site, digest),
    ]


def configuration(site: Site) -> str:
    """The lines that scripts/turns.awk reads, anew in each round."""
    settings = settings_of(site)
    reboot = settings.reboot
    lines = [
        f"attempts {reboot.attempts}",
        f"window {3600 * reboot.window_hours}",
        f"verdict {reboot.timeout_seconds}",
        f"percent {settings.max_faulty_percent}",
    ]
    for remediator, pool in remediated_pools(site):
        lines.append(f"healer {pool.name} {remediator.name} {remediator.max_unavailable}")
        lines += [
            f"fault {pool.name} {remediator.name} {fault} {CONDITIONS[fault]}"
            for fault in site.repairs(pool, remediator)
        ]
    return "\n".join(lines) + "\n"


def _not_older(file: str) -> Json:
    """A probe that fails while what the program noted in a file is too long ago."""
    test = f'test $(($(date +%s) - $(cat "/state/{file}"))) -lt {SILENT_SECONDS}'
    return {"exec": {"command": ["sh", "-c", test]}, "timeoutSeconds": 10}
