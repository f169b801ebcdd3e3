"""Renaming a device plugin's resource: devices in use look free under the new name.

Any other change of a plugin restarts its pods, and jobs keep their devices.

Source: Kubernetes 1.34, pkg/kubelet/cm/devicemanager/manager.go (allocatedDevices is keyed by the
resource's name).
"""

from collections.abc import Iterable

from components.accelerators.effects.concerned import plugin_resource
from components.accelerators.plugins import PLUGIN
from components.effects import kinds
from components.effects.kubernetes import RULES as KUBERNETES
from components.effects.rules import Rule
from components.effects.vocabulary import Effect, FieldChange, Impact, ObjectChange, SiteChange

DEVICES = "Kubernetes 1.34, pkg/kubelet/cm/devicemanager/manager.go (allocatedDevices)"


def _renaming(rule: Rule) -> Rule:
    """A rule of DaemonSets, for a plugin that may restart with another resource.

    One that does not restart advertises what it did before, whatever its record says.
    """

    def judge(
        site: SiteChange, change: ObjectChange, field: FieldChange | None
    ) -> Iterable[Effect]:
        renamed = _resource_change(site, change)
        for each in rule.judge(site, change, field):
            if renamed and each.impact is Impact.POD_RESTART:
                why, source = f"{each.why}; {renamed}", f"{each.source}; {DEVICES}"
                yield each._replace(impact=Impact.UNKNOWN, why=why, source=source)
            else:
                yield each

    return rule._replace(judge=judge)


def _resource_change(site: SiteChange, change: ObjectChange) -> str:
    """The effect on a pool's devices where their resource changes; empty where it does not."""
    _, part, pool = change.one.name.split("/")
    before, after = (plugin_resource(side, pool) for side in (site.before, site.after))
    if part != PLUGIN or before is None or after is None or before == after:
        return ""
    return (
        f"its devices change their resource name from {before} to {after}, and nobody is evicted: "
        "one that a pod holds under the old name may be given to another"
    )


RULES: list[Rule] = [
    _renaming(rule) for rule in KUBERNETES if rule.kind == kinds.DAEMON_SET and not rule.whole
]
"""Coming and going is left to the rules of DaemonSets: on one side no plugin of ours runs."""
