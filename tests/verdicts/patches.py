"""Patches of generated objects: what one that comes, changes or goes does to hosts."""

from components.effects.vocabulary import Action
from tests.kit.preview_repository import Repository
from tests.verdicts.edits import Edit, site
from tests.verdicts.row import CPU, MD_ROLLS, Expected, Row

_FILE = "sites/tsukuba-1.yaml"
_VALUE = "/spec/template/spec/postKubeadmCommands, value: [udevadm settle]"
_PATCH = f"""
patches:
  - component: machines
    object: KubeadmConfigTemplate/cpu
    operations:
      - {{op: add, path: {_VALUE}}}
    reason: devices of the vendor appear late
    owner: infra
    until: "2027-03-31"
"""
_NOTE = _PATCH.replace("KubeadmConfigTemplate", "MachineDeployment").replace(
    _VALUE, "/metadata/annotations/example.com~1team, value: a"
)
_WHY = f"the template is named by what it says, with its patch; {MD_ROLLS}"
_ROLLS = {"tsukuba-1": Expected(CPU)}


def _add(text: str) -> Edit:
    def edit(repository: Repository) -> None:
        repository.write(_FILE, repository.text(_FILE) + text)

    return edit


_THERE = (_add(_PATCH),)

ROWS = (
    Row("a patch of first boots", _THERE, _ROLLS, _WHY),
    Row("a patch that goes", (site("tsukuba-1", _PATCH, "\n"),), _ROLLS, _WHY, _THERE),
    Row(
        "another reason of a patch",
        (site("tsukuba-1", "appear late", "appear after the kubelet"),),
        {},
        "the objects are the same",
        _THERE,
    ),
    Row(
        "a patch of an annotation",
        (_add(_NOTE),),
        {"tsukuba-1": Expected(actions={"MachineDeployment/cpu": Action.CHANGED})},
        "Cluster API 1.13.6, internal/controllers/machinedeployment: annotations go to its "
        "MachineSets in place",
    ),
)
