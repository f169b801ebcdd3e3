"""The clusters of a site: another kubeconfig context moves objects that do not differ. By it Pulumi
tells clusters apart (``cluster_identifier``, components/shell.py); its meaning is in no Git."""

from collections.abc import Iterator

from components.effects.vocabulary import Action, Effect, Impact, Name, SiteChange
from components.making.manifest import Manifest, Target
from schemas.kubernetes.tables import read_table

PATHS = ("management", "cluster.context")
"""Where a site file names its contexts."""
NAMESPACE: Name = ("machines", "Namespace")
"""The object that stands for all of a site's on its management cluster."""
_MOVED = read_table(__file__)


def effects(site: SiteChange) -> Iterator[Effect]:
    """The effect of another context: it is unknown, and `pulumi up` refuses."""
    if site.before is None or site.after is None:
        return
    old, new = site.before.fleet, site.after.fleet
    moved = [("management", old.management, new.management, NAMESPACE)]
    ended = old.decommissioned or new.decommissioned
    if old.context and new.context and not ended:
        named = [n for n, m in site.after.objects.items() if m.target is Target.SITE]
        first = named[0] if named else NAMESPACE
        moved.append(("cluster.context", old.context, new.context, first))
    for path, before, after, name in moved:
        if before != after:
            why, source = _MOVED["why"].format(path, after, before), _MOVED["source"]
            yield Effect(Impact.UNKNOWN, name, (), why, source, new.names, action=Action.REFUSED)


def is_applied(context: str | None, manifest: Manifest) -> bool:
    """True if an object is applied: those of the site's own cluster wait for its context."""
    return manifest.target is Target.MANAGEMENT or context is not None
