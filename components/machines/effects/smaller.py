"""The smaller way to give running hosts what a changed first boot would re-image them for.

Data that hosts only read at their first boot reaches new machines by the template, and running ones
by a person: with OnDelete no machine is replaced meanwhile. A control plane knows no OnDelete.

Sources: containerd 2.4.2, docs/hosts.md (hosts.toml is read at each pull, without a restart);
Cluster API v1.13.6, internal/controllers/machinedeployment/machinedeployment_rollout_ondelete.go.
"""

from collections.abc import Iterator

from components.effects.vocabulary import FieldChange, ObjectChange
from components.machines.bootstrap import DROP_IN, TRUST
from components.machines.effects.concerned import value
from components.machines.registries import FOLDER

_CONFIG = ("spec", "template", "spec")
_COMMANDS = {
    "systemctl daemon-reload",
    "systemctl restart containerd",
    *(command for _, _, command in TRUST.values()),
}
_CERTIFICATE = (
    f"write the certificate there, run {' or '.join(c for _, _, c in TRUST.values())}, and restart "
    "containerd, which restarts no pod"
)
_FILES = {
    f"{FOLDER}/": "write the same hosts.toml there: containerd reads it at the next pull",
    DROP_IN: "write the same drop-in there, then systemctl daemon-reload, and restart containerd, "
    "which restarts no pod",
    **dict.fromkeys((folder for folder, _, _ in TRUST.values()), _CERTIFICATE),
}
_SECTIONS = {
    "ntp": "name the servers in chrony or systemd-timesyncd there",
    "users": "change the user and its authorized_keys there",
}


def smaller_way(made: ObjectChange | None) -> str:
    """What to write instead of a rollout for a changed KubeadmConfigTemplate; empty where something
    in it needs one."""
    if made is None or made.before is None or made.after is None:
        return ""
    fields = [each for each in made.fields if each.path[:3] == _CONFIG]
    ways = dict.fromkeys(way for field in fields for way in _ways(made, field))
    if not fields or None in ways:
        return ""
    how = "; ".join(way for way in ways if way)
    way = (
        "write rollout: {strategy: OnDelete} for the pool in this change and leave it so: no "
        "machine is replaced, and hosts that are installed later get it; on running hosts, "
    )
    return way + how if how else ""


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
