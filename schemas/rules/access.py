"""A rule on the people of a site: each can log in."""

from collections.abc import Iterator

from schemas.facts.site import Site
from schemas.reading.paths import each_at
from schemas.rules.finding import Finding, say

_NAMES = ("access.*.*.*", "scheduling.teams.*.groups.*", "scheduling.teams.*.users.*")


def people(site: Site) -> Iterator[Finding]:
    """Where issuers are given, each group and user has the prefix of one."""
    prefixes = tuple(each.prefix for each in site.file.cluster.authentication)
    for place, name in each_at(site.file, *_NAMES):
        if prefixes and not name.startswith(prefixes):
            yield say("access-name-without-issuer", place, name, prefixes)
