"""Resets of accelerators before a reboot: a DaemonSet of pods where a label of the node asks so."""

from collections.abc import Iterator

from components.making.daemons import Daemon, on_pool
from components.making.faults import CONDITIONS, RESET_LABEL
from components.making.manifest import Manifest, filled
from components.remediation.checks import BOOT_ID, HOST, SCRIPTS, STATE
from components.remediation.detector import NAME as DETECTOR
from components.remediation.detector import RESOURCES
from components.remediation.names import COMPONENT, settings_of
from schemas.facts.resets import device_reset
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.model.accelerators import Reset
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Fault

NAME = "accelerator-reset"
SLACK_SECONDS = 60
"""Beside the reset and the checks that see its end: the pod comes, and others go."""


def resets(site: Site) -> Iterator[Manifest]:
    """The DaemonSets of pools whose devices a repair may reset."""
    for pool in site.file.pools:
        if reset := device_reset(site, pool):
            yield on_pool(site, pool, _daemon(site, pool, reset))


def request(site: Site, pool: Pool) -> str:
    """The fault and the condition for which the reboot Job asks for a reset, and the seconds until
    the condition must have changed; empty where there are no resets."""
    reset, settings = device_reset(site, pool), settings_of(site)
    if reset is None:
        return ""
    detector, fault = settings.detector, Fault.ACCELERATOR_ERROR
    checked = (detector.good_after + 1) * detector.interval_seconds
    longest = reset.timeout_seconds + checked + SLACK_SECONDS
    return f"{fault},{CONDITIONS[fault]},{min(longest, settings.reboot.timeout_seconds // 2)}"


def _daemon(site: Site, pool: Pool, reset: Reset) -> Daemon:
    """Its command runs where the health command does."""
    settings, model = settings_of(site), site.model(pool)
    health = site.accelerators[model].health if model else None
    root = f"{HOST}{health.root if health else ''}".rstrip("/")
    container, seen = filled(
        __file__,
        image=settings.detector.image or site.images[DETECTOR],
        script=(SCRIPTS / "gpu-reset.sh").read_text("utf-8"),
        arguments=[STATE, BOOT_ID, "/dev/kmsg", str(reset.timeout_seconds), root, *reset.command],
        resources=RESOURCES,
    )
    chosen = {POOL_LABEL: pool.name, RESET_LABEL: "true"}
    return Daemon(
        name=NAME,
        namespace=settings.namespace,
        component=COMPONENT,
        containers=[container],
        volumes=seen["volumes"],
        pod={"nodeSelector": chosen, "securityContext": {}},
        vital=True,
    )
