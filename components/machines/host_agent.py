"""The agent that applies changed settings to running workers: a DaemonSet for each pool.

Its pods are replaced a tenth of a pool at a time, and a pod is ready when its host has everything:
so settings that a host cannot take stop at the first tenth. A pod copies its settings when it
starts; those of pods that are not yet replaced stay, whatever the ConfigMap says by then.
"""

from pathlib import Path

from components.machines.applied import applied_files, applied_list, applies
from components.machines.certificates import trust_command
from components.making.daemons import Daemon, namespace, on_pool
from components.making.manifest import (
    Manifest,
    annotate,
    config_map,
    content_digest,
    filled,
    metadata_of,
)
from schemas.facts.site import Site
from schemas.model.host_agent import AGENT_IMAGE, InPlace
from schemas.model.site_file import Pool

NAME, COMPONENT = "host-agent", "machines"
NAMESPACE = NAME
TIME_SERVERS = "time-servers"
"""The key of the time servers, which are written into the file of the host's own program."""
_SCRIPTS = ("apply.sh", "agent.sh")
READY_SECONDS = 30


def host_agent(site: Site) -> list[Manifest]:
    """The objects of the agent; none where the site has none, or no workers."""
    if site.file.host_agent is None or not site.worker_pools:
        return []
    found = [namespace(site, NAMESPACE, COMPONENT, level="privileged")]
    for pool in site.worker_pools:
        found += _of_pool(site, pool)
    return annotate(found)


def settings_of(site: Site, pool: Pool) -> dict[str, str]:
    """The settings of a pool's hosts and the scripts that apply them, by file name. ``index`` has a
    line for each file of the host: its part, the name of its content here, and its path there."""
    found = {name: (Path(__file__).parent / name).read_text("utf-8") for name in _SCRIPTS}
    found["files"] = applied_list(site, pool)
    found["parts"] = "".join(f"{part}\n" for part in InPlace if applies(site, pool, part))
    applied = enumerate(applied_files(site, pool), start=1)
    keys = {f"{each.part}-{number}": each for number, each in applied}
    found |= {key: each.content for key, each in keys.items()}
    if applies(site, pool, InPlace.CERTIFICATES):
        found["trust"] = f"{trust_command(site, pool)}\n"
    if applies(site, pool, InPlace.TIME_SERVERS):
        found[TIME_SERVERS] = "".join(f"{each}\n" for each in site.first_boot(pool).ntp)
    index = (f"{each.part} {key} {each.path}\n" for key, each in keys.items())
    return {**found, "index": "".join(index)}


def _of_pool(site: Site, pool: Pool) -> list[Manifest]:
    settings, name = settings_of(site, pool), f"{NAME}-{pool.name}"
    copy, program, seen = filled(__file__, image=site.images[AGENT_IMAGE], settings=name)
    daemon = Daemon(
        NAME,
        NAMESPACE,
        COMPONENT,
        [program],
        volumes=seen["volumes"],
        init_containers=[copy],
        pod={"securityContext": {}, "hostPID": True},
        annotations=content_digest(settings, name),
        min_ready_seconds=READY_SECONDS,
        vital=True,
    )
    metadata = metadata_of(COMPONENT, site, name, NAMESPACE)
    return [config_map(f"{NAME}/{pool.name}", metadata, settings), on_pool(site, pool, daemon)]
