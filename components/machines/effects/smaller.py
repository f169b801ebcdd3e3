"""The smaller way to give running hosts what a changed first boot would re-image them for.

Data that hosts only read at their first boot reaches new machines by the template, and running ones
by a person: with OnDelete no machine is replaced meanwhile. A control plane knows no OnDelete.
What else the pool's rollout says must stay: without ``by_zone`` it gets a new MachineDeployment.

Sources: containerd 2.4.2, docs/hosts.md (hosts.toml is read at each pull, without a restart);
Cluster API v1.13.6, internal/controllers/machinedeployment/machinedeployment_rollout_ondelete.go.
"""

from collections.abc import Iterator

from components.effects import FieldChange, ObjectChange, SiteChange
from components.effects.fleet import Group
from components.machines import proxy
from components.machines.certificates import TRUST
from components.machines.effects import kinds
from components.machines.effects.concerned import value
from components.machines.registries import FOLDER
from components.making.told import Told
from schemas.kubernetes.tables import read_table

DRAIN_SECONDS = 3600
"""The drain_timeout_seconds of a pool that does not write it."""
_CONFIG = ("spec", "template", "spec")
_CONTROL = ("spec", "kubeadmConfigSpec")
_COMMANDS = {
    "systemctl daemon-reload",
    "systemctl restart containerd",
    *(command for _, _, command in TRUST.values()),
}
TOLD = Told(__file__)
_CERTIFICATE = TOLD.say("certificates", commands=" or ".join(c for _, _, c in TRUST.values()))
_FILES = {
    f"{FOLDER}/": TOLD.say("registries"),
    proxy.FOLDER: TOLD.say("proxy"),
    **dict.fromkeys((folder for folder, _, _ in TRUST.values()), _CERTIFICATE),
}
_SECTIONS: dict[str, str] = read_table(__file__)["sections"]


def smaller_way(site: SiteChange, group: Group, made: ObjectChange | None) -> str:
    """What to write instead of a rollout for a KubeadmConfigTemplate; empty where it needs one."""
    if made is None or made.before is None or made.after is None:
        return ""
    fields = [each for each in made.fields if each.path[:3] == _CONFIG]
    ways = dict.fromkeys(way for field in fields for way in _ways(made, field))
    how = "; ".join(way for way in ways if way)
    if None in ways or not how:
        return ""
    mine = {"settings": _settings(group), "pool": group.pool}
    return TOLD.say("way", how=how, others=_others(site), **mine)


def _settings(group: Group) -> str:
    """The pool's settings with OnDelete, which knows no max_unavailable and no max_surge."""
    kept = ["strategy: OnDelete"]
    if group.zone:
        kept.append("by_zone: true")
    if group.pace.drain_seconds != DRAIN_SECONDS:
        kept.append(f"drain_timeout_seconds: {group.pace.drain_seconds}")
    return f"{{{', '.join(kept)}}}"


def _others(site: SiteChange) -> str:
    """That the control plane is installed again all the same, where it is."""
    mine = (each for each in site.changes.values() if each.group_kind == kinds.CONTROL_PLANE)
    rolled = any(field.path[:2] == _CONTROL for each in mine for field in each.fields)
    return "; the control plane is re-imaged all the same" if rolled else ""


def _ways(made: ObjectChange, field: FieldChange) -> Iterator[str | None]:
    """What a person does on a running host for a field; None where only a new machine has it."""
    section = field.path[3] if len(field.path) > 3 else ""
    if section in _SECTIONS:
        yield _SECTIONS[str(section)]
    elif section == "files":
        sides = [value(side, *field.path[:5], "path") for side in (made.before, made.after)]
        whole = [each.get("path") for each in field[1:] if isinstance(each, dict)]
        for path in map(str, whole if len(field.path) == 5 else sides):
            yield next((way for start, way in _FILES.items() if path.startswith(start)), None)
    elif section == "preKubeadmCommands":
        lists = [each if isinstance(each, list) else [each] for each in field[1:]]
        texts = {text for each in lists for text in each if isinstance(text, str)}
        yield "" if texts <= _COMMANDS else None
    else:
        yield None
