"""The program that gives nodes their turns: its configuration, and the Deployment that runs it."""

import hashlib

from components.making.faults import CONDITIONS
from components.making.manifest import CONFIGURATION_ANNOTATION, Json, Manifest, Target, labels
from components.making.pod_security import POD_SECURITY, SECURITY
from components.making.taints import CONTROL_PLANE_LABEL, tolerations
from components.remediation.names import (
    COMPONENT,
    TURNS,
    own,
    remediated_pools,
    selector_labels,
    settings_of,
    tools_image,
)
from components.remediation.reboot import SCRIPTS
from schemas.facts.site import Site

PROGRAM = ("turns.sh", "turns.awk", "nodepatch.awk")
CONFIG = "turns.conf"
CONFIG_MAP = f"{TURNS}-config"
INTERVAL_SECONDS = 20
"""Between two rounds: the checks of a node take longer to be sure."""
SILENT_SECONDS = 300
"""Without a new request for so long the program hangs: each gives up after 30 seconds."""


def turns(site: Site) -> list[Manifest]:
    """The program, its lines, and what runs it."""
    texts = {name: (SCRIPTS / name).read_text("utf-8") for name in PROGRAM}
    program = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": own(site, TURNS), "data": texts}
    lines = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {**own(site, TURNS), "name": CONFIG_MAP},
        "data": {CONFIG: configuration(site)},
    }
    digest = hashlib.sha256("".join(texts.values()).encode()).hexdigest()
    return [
        Manifest(f"ConfigMap/{TURNS}", program, target=Target.SITE),
        Manifest(f"ConfigMap/{CONFIG_MAP}", lines, target=Target.SITE),
        Manifest(f"Deployment/{TURNS}", _deployment(site, digest), target=Target.SITE),
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


def _deployment(site: Site, digest: str) -> Json:
    """One at a time: two would give twice as many turns."""
    named = {**labels(site.name, COMPONENT), **selector_labels(TURNS)}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": own(site, TURNS),
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": selector_labels(TURNS)},
            "strategy": {"type": "Recreate"},
            "template": {
                # Its lines it reads in each round, and itself only once: a change starts it anew.
                "metadata": {"labels": named, "annotations": {CONFIGURATION_ANNOTATION: digest}},
                "spec": _pod(site),
            },
        },
    }


def _pod(site: Site) -> Json:
    return {
        "serviceAccountName": TURNS,
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "priorityClassName": "system-cluster-critical",
        "nodeSelector": {CONTROL_PLANE_LABEL: ""},
        "tolerations": tolerations([site.control_plane]),
        "securityContext": POD_SECURITY,
        "containers": [_container(site)],
        "volumes": [
            {"name": "program", "configMap": {"name": TURNS}},
            {"name": "config", "configMap": {"name": CONFIG_MAP}},
            {"name": "state", "emptyDir": {"sizeLimit": "64Mi"}},
        ],
    }


def _container(site: Site) -> Json:
    told = {
        "TURNS_NAMESPACE": settings_of(site).namespace,
        "TURNS_CONFIG": f"/config/{CONFIG}",
        "TURNS_STATE": "/state",
        "TURNS_INTERVAL": str(INTERVAL_SECONDS),
        # kubectl keeps what the API server serves here.
        "HOME": "/state",
    }
    return {
        "name": TURNS,
        "image": tools_image(site),
        "command": ["sh", f"/program/{PROGRAM[0]}"],
        "env": [{"name": key, "value": value} for key, value in told.items()],
        "livenessProbe": {**_not_older("alive"), "periodSeconds": 60, "failureThreshold": 3},
        # Not ready while rounds fail: the Deployment's status tells whoever watches.
        "readinessProbe": {**_not_older("good"), "periodSeconds": 30, "failureThreshold": 2},
        # kubectl holds what it lists: the limit is for ten thousand pods.
        "resources": {
            "requests": {"cpu": "50m", "memory": "128Mi"},
            "limits": {"memory": "1Gi"},
        },
        "securityContext": SECURITY,
        "volumeMounts": [
            {"name": "program", "mountPath": "/program", "readOnly": True},
            {"name": "config", "mountPath": "/config", "readOnly": True},
            {"name": "state", "mountPath": "/state"},
        ],
    }


def _not_older(file: str) -> Json:
    """A probe that fails while what the program noted in a file is too long ago."""
    test = f'test $(($(date +%s) - $(cat "/state/{file}"))) -lt {SILENT_SECONDS}'
    return {"exec": {"command": ["sh", "-c", test]}, "timeoutSeconds": 10}
