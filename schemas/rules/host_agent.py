"""Rules on the agent that applies settings to running workers."""

from collections.abc import Iterator

from schemas.facts.site import Site
from schemas.model.host_agent import AGENT_IMAGE, HostAgent
from schemas.rules.finding import Finding, say


def agents(site: Site, _: HostAgent) -> Iterator[Finding]:
    """The agent has an image and hosts."""
    place = ("host_agent",)
    if AGENT_IMAGE not in site.images:
        yield say("agent-image-missing", place, site, AGENT_IMAGE)
    if not site.worker_pools:
        yield say("agent-without-workers", place)
