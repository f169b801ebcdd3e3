"""The object cache of a site as one Pulumi component."""

from dataclasses import dataclass

import pulumi

from components.object_cache.objects import objects
from components.shell import SiteArgs, SiteComponent
from schemas.facts.site import Site
from schemas.model.object_cache import Cache


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectCacheArgs(SiteArgs):
    """Arguments of ``ObjectCache``."""

    cache: Cache | None = None
    """The object cache."""


class ObjectCache(SiteComponent[ObjectCacheArgs]):
    """The servers of the object cache, and the Envoys before them."""

    namespace: pulumi.Output[str]
    """Namespace of the cache."""
    service: pulumi.Output[str]
    """Name of its Service, which listens on port 80."""
    url: pulumi.Output[str]
    """URL of all objects, with a slash at its end: ``http://cache.cache-service.svc/v1/objects/``."""
    bucket_urls: pulumi.Output[dict[str, str]]
    """URL of the objects of each bucket, with a slash at its end, by the bucket's name."""
    audience: pulumi.Output[str]
    """Audience of the tokens that pods show."""

    make = staticmethod(objects)

    @staticmethod
    def values(site: Site) -> dict[str, object]:
        """The values of the outputs."""
        cache = site.file.cache
        if cache is None:
            return {}
        return {
            "namespace": cache.namespace,
            "service": cache.service,
            "url": cache.url(),
            "bucket_urls": {each.name: cache.url(each.name) for each in cache.buckets},
            "audience": cache.audience,
        }
