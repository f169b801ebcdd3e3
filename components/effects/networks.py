"""Pod networks whose settings are known (networks.toml: custom resources of Cilium and Calico, and
Cilium's ConfigMap): what a change of them does beyond Kubernetes' own rules."""

from fnmatch import fnmatchcase

from components.effects import Effects, Field, Impact, ObjectChange, SiteChange
from components.effects.applying import effect, not_known
from components.effects.table import read_kinds
from components.making.told import Told

NETWORKS = read_kinds(globals()).kinds
_TOLD = Told(__file__)
SETTINGS = _TOLD.table("settings", **_TOLD.optional("sources"))


def settings(site: SiteChange, change: ObjectChange, field: Field) -> Effects | None:
    """The effects of a change of known settings; None of any other ConfigMap's."""
    said = SETTINGS.get("/".join(change.one.key[2:]))
    if said is None or change.kind != "ConfigMap" or field is None:
        return None
    keys = map(str, field.path[1:2])
    if not any(fnmatchcase(key, each) for key in keys for each in said["harmless"]):
        return not_known(said["outage"], said["source"])(site, change, field)
    return [effect(change, field, Impact.NONE, said["late"], said["source"])]
