"""The end of a site: how ``foresite up`` takes its cluster away. Two runs of Pulumi. In the first
nothing is deleted: what the site gives up is registered once more, protected no more and marked as
what may be deleted (components/making/decommission.py). In the second, the usual one, it is left
out: the Cluster goes first, then the rest."""

from collections.abc import Iterable
from dataclasses import replace

from components.making.decommission import MAY_BE_DELETED, VARIABLE, ReleasedObject, format_release
from components.making.manifest import Target
from components.site import site_objects
from foresite.delivery.stack.engine import Engine, EngineError, Say, demand_success
from foresite.delivery.stack.live import key_of, resource_name, type_of
from foresite.delivery.stack.stated import Stated, held_objects
from schemas.facts.site import Site

MESSAGE = "foresite: what the decommissioned site gives up is protected no more"
"""In the stack's history; no commit is named, so that the site stays due until it is all gone."""


def release(engine: Engine, site: Site, say: Say) -> None:
    """Let go of all that a decommissioned site gives up, so that the next run may delete it. Does
    nothing where that was done, as after a run that was interrupted. What somebody deleted
    meanwhile is forgotten first: a Cluster that is registered anew would install hosts again.
    Raises EngineError, and then nothing was deleted."""
    held = [each for each in leaving(site, held_objects(engine)) if not _is_released(each)]
    if not held:
        return
    say(f"{site.name} is decommissioned: {len(held)} objects are let go of, then deleted")
    if site.file.cluster.context is None and any(each.target is Target.SITE for each in held):
        # Pulumi has to know whose objects it forgets.
        raise EngineError(
            f"the state has objects of {site.name}'s own cluster, and cluster.context is not in "
            "its file any more: put it back until the site is gone; the cluster need not answer"
        )
    # Let the state know what is gone from the management cluster already.
    if urns := [each.urn for each in held if each.target is Target.MANAGEMENT]:
        demand_success(engine.refresh(urns), "nothing was changed: ")
    objects = []
    for each in leaving(site, held_objects(engine)):
        component, name = key_of(each.urn) or ("", "")
        objects.append(ReleasedObject(component, type_of(each.urn), name, each.target, each.body))
    engine.notes.mkdir(parents=True, exist_ok=True)
    file = engine.notes / f"{engine.stack}.leaving.json"
    file.write_text(format_release(objects), encoding="utf-8")
    told = replace(engine, environment={**engine.environment, VARIABLE: str(file)})
    said: list[str] = []
    code = told.up(said.append, "--message", MESSAGE)
    if code != 0:
        told_of = "\n".join(said).partition("Diagnostics:")[2].partition("Resources:")[0].strip()
        raise EngineError(f"pulumi up failed, and nothing was deleted: {told_of or engine.log}")
    file.unlink()


def leaving(site: Site, held: Iterable[Stated]) -> list[Stated]:
    """The objects of a state that a decommissioned site no longer has."""
    every = site_objects(site).items()
    kept = {(resource_name(component), each.name) for component, made in every for each in made}
    return [each for each in held if key_of(each.urn) not in kept]


def _is_released(each: Stated) -> bool:
    if each.protect:
        return False
    if each.target is Target.SITE:
        return each.keep
    annotations = each.body["metadata"].get("annotations") or {}
    return not each.keep and bool(annotations.get(MAY_BE_DELETED))
