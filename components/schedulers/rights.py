"""The rights of a scheduler: the default one's, its own lease, and the needs of its plugins."""

from components.making.manifest import Json, Manifest, by_kind, documents, fill
from components.making.rights import subject
from components.schedulers.names import metadata, own, selector_labels, shared_name
from schemas.facts.site import Site
from schemas.model.scheduling import Backend, KubeScheduler

_OBJECTS, _OF_PLUGINS = documents(__file__)


def rights(site: Site, backend: Backend, scheduler: KubeScheduler) -> list[Manifest]:
    """The ServiceAccount of a scheduler, with all that it may do."""
    settings = {"gang": scheduler.gang, "throttler": scheduler.throttler}
    rules = [rule for name, each in settings.items() if each for rule in _OF_PLUGINS[name]]
    names = {part: shared_name(backend, part) for part in ("scheduling", "volumes", "plugins")}
    mine = selector_labels(backend)
    values: Json = {
        "own": own(site, backend),
        "lease": own(site, backend, "-lease"),
        "lease_name": f"{backend.name}-lease",
        "readers": metadata(site, shared_name(backend, "readers"), "kube-system", **mine),
        **{part: metadata(site, name, **mine) for part, name in names.items()},
        "plugins_name": names["plugins"],
        "rules": rules,
        "backend": backend.name,
        "account": subject(backend.name, site.scheduling.namespace),
    }
    found: dict[str, list[Json]] = fill(_OBJECTS, values)
    parts = [part for part in found if rules or part != "/plugins"]
    return [each for part in parts for each in by_kind(found[part], f"{backend.name}{part}")]
