"""The scope of a rule on one part of a site: the part, its site, and the place of the part."""

from typing import NamedTuple

from schemas.facts.site import Site
from schemas.model.site_file import Pool, Zone
from schemas.rules.finding import Path


class InPool(NamedTuple):
    """A pool in its site."""

    site: Site
    number: int
    pool: Pool

    def path(self, *steps: str | int) -> Path:
        """The place of a field of the pool."""
        return ("pools", self.number, *steps)

    def kubelet_path(self, *steps: str | int) -> Path:
        """The place of a setting of the pool's kubelet: the site's, where it alone has some."""
        own = self.pool.kubelet is not None or "kubelet" not in self.site.file.model_fields_set
        return self.path("kubelet", *steps) if own else ("kubelet", *steps)


class InZone(NamedTuple):
    """A zone in its site."""

    site: Site
    number: int
    zone: Zone

    def path(self, *steps: str | int) -> Path:
        """The place of a field of the zone."""
        return ("zones", self.number, *steps)
