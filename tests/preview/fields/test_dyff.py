"""The real dyff as an independent judge: in edits of real objects it finds what field_changes does.

It knows no schema: it takes a list for a map where each item has a name, a key or an id. Where the
two differ by design, the edit stands in a table of its own with the reason.
"""

import copy
import functools
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from components.effects.vocabulary import ABSENT, FieldChange
from components.making.dump import dump, dump_all
from components.site import site_objects
from preview.differences.fields.listkeys import Item
from schemas.kubernetes.manifests import read_manifests
from tests.kit.fields import field_changes, reordered_lists
from tests.kit.go_programs import program
from tests.kit.repository import ROOT, all_sites

DYFF = ROOT / "tools" / "dyff"
GONE = object()
Json = Any
Place = tuple[str | int, ...]


class Edit(NamedTuple):
    """One edit of the first object of a kind: a value at a place, or what makes one of it."""

    kind: str
    at: Place
    value: Any


CONFIG: Place = ("spec", "kubeadmConfigSpec")
NODE: Place = (*CONFIG, "initConfiguration", "nodeRegistration")
POD: Place = ("spec", "template", "spec")
WEB: Place = (*POD, "containers", 0)
PODS_NETWORK = ("spec", "clusterNetwork", "pods", "cidrBlocks")
DATA_TEMPLATE = "Metal3DataTemplate"
CONDITIONS = ("spec", "checks", "unhealthyNodeConditions")
MINE = {"example.com/mine": "1"}


def without(*keys: str) -> Callable[[Json], Json]:
    return lambda value: {key: item for key, item in value.items() if key not in keys}


def plus(*items: Any, at: int | None = None) -> Callable[[Json], Json]:
    return lambda old: [*old, *items] if at is None else [*old[:at], *items, *old[at:]]


def less(index: int) -> Callable[[Json], Json]:
    return lambda old: [*old[:index], *old[index + 1 :]]


def backwards(old: Json) -> Json:
    return old[::-1]


ARGUMENT = {"name": "v", "value": "4"}
VARIABLE = {"name": "LEVEL", "value": "debug"}
ETHERNET = {"id": "data", "type": "phy", "macAddress": {"string": "52:54:00:00:00:01"}}
RANGE = {"start": "10.17.0.1", "end": "10.17.0.9", "prefix": 24}

AGREED = {
    "a number": Edit("MachineDeployment", ("spec", "replicas"), 3),
    "a text": Edit("MachineDeployment", (*POD, "version"), "v1.35.5"),
    "a field gone": Edit("MachineDeployment", ("spec", "rollout"), GONE),
    "a field new": Edit("MachineDeployment", ("spec", "paused"), True),
    "a map new": Edit("MachineDeployment", ("spec", "remediation"), {"maxInFlight": "20%"}),
    "a number as text": Edit("MachineDeployment", ("spec", "replicas"), "147"),
    "a text as number": Edit("ConfigMap", ("metadata", "annotations", "a"), 1),
    "true as number": Edit("KubeadmControlPlane", (*CONFIG, "ntp", "enabled"), 1),
    "null for a number": Edit("MachineDeployment", ("spec", "replicas"), None),
    "a map for a text": Edit("BareMetalHost", ("spec", "bootMode"), {"a": "b"}),
    "an empty text": Edit("Cluster", ("spec", "controlPlaneRef", "name"), ""),
    "a label with dots": Edit("BareMetalHost", ("metadata", "labels", "foresite.dev/rack"), "z"),
    "a label new": Edit("Namespace", ("metadata", "labels"), lambda old: {**old, **MINE}),
    "a label gone": Edit("Namespace", ("metadata", "labels"), without("foresite.dev/site")),
    "all annotations gone": Edit("Cluster", ("metadata", "annotations"), GONE),
    "an address": Edit("BareMetalHost", ("spec", "bmc", "address"), "redfish://10.0.0.1"),
    "a hint gone": Edit("BareMetalHost", ("spec", "rootDeviceHints"), without("rotational")),
    "an only item": Edit("Cluster", (*PODS_NETWORK, 0), "10.80.0.0/12"),
    "a network new": Edit("Cluster", PODS_NETWORK, plus("fd00::/48")),
    "an argument's value": Edit("KubeadmControlPlane", (*NODE, "kubeletExtraArgs", 0, "value"), ""),
    "an argument new": Edit("KubeadmControlPlane", (*NODE, "kubeletExtraArgs"), plus(ARGUMENT)),
    "an argument gone": Edit("KubeadmControlPlane", (*NODE, "kubeletExtraArgs"), []),
    "a command between": Edit(
        "KubeadmControlPlane", (*CONFIG, "preKubeadmCommands"), plus("sync", at=1)
    ),
    "a command gone": Edit("KubeadmControlPlane", (*CONFIG, "preKubeadmCommands"), less(0)),
    "a file between": Edit(
        "KubeadmControlPlane", (*CONFIG, "files"), plus({"path": "/x", "content": "y"}, at=1)
    ),
    "an expression": Edit(
        "ValidatingAdmissionPolicy", ("spec", "validations", 0, "expression"), "true"
    ),
    "an operation gone": Edit(
        "ValidatingAdmissionPolicy",
        ("spec", "matchConstraints", "resourceRules", 0, "operations"),
        less(1),
    ),
    "a failure domain": Edit("Metal3Cluster", ("spec", "failureDomains", 1, "controlPlane"), True),
    "a failure domain gone": Edit("Metal3Cluster", ("spec", "failureDomains"), less(2)),
    "failure domains in another order": Edit(
        "Metal3Cluster", ("spec", "failureDomains"), backwards
    ),
    "metadata by key": Edit(
        DATA_TEMPLATE, ("spec", "metaData", "fromLabels", 1, "label"), "example.com/rack"
    ),
    "metadata in another order": Edit(
        DATA_TEMPLATE, ("spec", "metaData", "objectNames"), backwards
    ),
    "a link new": Edit(
        DATA_TEMPLATE, ("spec", "networkData", "links", "ethernets"), plus(ETHERNET, at=0)
    ),
    "a name server new": Edit(
        DATA_TEMPLATE, ("spec", "networkData", "services", "dns"), plus("10.0.0.9", at=0)
    ),
    "name servers in another order": Edit(
        DATA_TEMPLATE, ("spec", "networkData", "services", "dns"), backwards
    ),
    "a range new": Edit("IPPool", ("spec", "pools"), plus(RANGE)),
    "an address of a host": Edit("IPPool", ("spec", "preAllocations", "tokyo-1-a-001-tokyo-1"), ""),
    "a condition gone": Edit("MachineHealthCheck", CONDITIONS, less(0)),
    "a reference new": Edit(
        "ClusterResourceSet", ("spec", "resources"), plus({"kind": "Secret", "name": "a"})
    ),
    "a container's image": Edit("DaemonSet", (*WEB, "image"), "flannel:v0.29"),
    "a variable new": Edit("DaemonSet", (*WEB, "env"), plus(VARIABLE, at=0)),
    "a variable's source": Edit(
        "DaemonSet", (*WEB, "env", 0, "valueFrom", "fieldRef", "fieldPath"), "spec.nodeName"
    ),
    "variables in another order": Edit("DaemonSet", (*WEB, "env"), backwards),
    "an init container gone": Edit("DaemonSet", (*POD, "initContainers"), less(0)),
    "a volume gone": Edit("DaemonSet", (*POD, "volumes"), less(3)),
    "a limit": Edit("DaemonSet", (*WEB, "resources", "limits", "memory"), "300Mi"),
    "a capability new": Edit(
        "DaemonSet", (*WEB, "securityContext", "capabilities", "add"), plus("SYS_ADMIN")
    ),
    "a static pod's image": Edit("Pod", ("spec", "containers", 0, "image"), "kube-vip:v2"),
    "a static pod's variable": Edit("Pod", ("spec", "containers", 0, "env", 3, "value"), "false"),
    "a text that holds no data": Edit("ConfigMap", ("data", "plain"), "a = 1\nb = 2\n"),
}

MANIFESTS: Place = ("data", "manifests.yaml")


class Design(NamedTuple):
    """An edit in which dyff finds something else, and why that is meant to be so.

    Where ``item`` is given, dyff finds that the item there goes and another comes.
    """

    edit: Edit
    reason: str
    ours: set[str]
    theirs: frozenset[str] | set[str] = frozenset()
    item: Place = ()


NO_SCHEMA = "one quantity in two forms; dyff knows no schema"
AS_DATA = "data is compared as data; to dyff it is text"
INDEX = "Kubernetes knows these items by nothing but their index; dyff has its own ways"
FLANNEL = "spec.template.spec.containers.flannel"
NTP = "spec.kubeadmConfigSpec.ntp.servers"
COMMANDS = "spec.kubeadmConfigSpec.preKubeadmCommands"
FIRST_COMMAND = f'{COMMANDS}: "update-ca-certificates"'
MANIFEST = "data.manifests.yaml.DaemonSet/kube-flannel/flannel"
POD_FILE: Place = (*CONFIG, "files", 8)
POD_PATH = "/etc/kubernetes/manifests/kube-vip.yaml"
IN_POD = "content.Pod/kube-system/kube-vip.spec.containers.kube-vip"

BY_DESIGN = {
    "a quantity in another form": Design(
        Edit("DaemonSet", (*WEB, "resources", "requests", "cpu"), "0.1"),
        NO_SCHEMA,
        ours=set(),
        theirs={f"± {FLANNEL}.resources.requests.cpu"},
    ),
    "a quantity in bytes": Design(
        Edit("DaemonSet", (*WEB, "resources", "requests", "memory"), "52428800"),
        NO_SCHEMA,
        ours=set(),
        theirs={f"± {FLANNEL}.resources.requests.memory"},
    ),
    "objects in a text": Design(
        Edit("ConfigMap", MANIFESTS, lambda old: old.replace("memory: 50Mi", "memory: 60Mi")),
        AS_DATA,
        ours={f"± {MANIFEST}.{FLANNEL}.resources.requests.memory"},
        theirs={"± data.manifests.yaml"},
    ),
    "JSON in a text": Design(
        Edit("Flannel", ("data", "net-conf.json"), lambda old: old.replace("vxlan", "host-gw")),
        AS_DATA,
        ours={"± data.net-conf.json.Backend.Type"},
        theirs={"± data.net-conf.json"},
    ),
    "JSON in another form": Design(
        Edit("Flannel", ("data", "net-conf.json"), lambda old: json.dumps(json.loads(old))),
        "another form of data changes the text, and a hash of it; dyff formats both alike",
        ours={"± data.net-conf.json"},
    ),
    "a static pod in a file": Design(
        Edit("KubeadmControlPlane", (*POD_FILE, "content"), lambda old: old.replace("v1.2", "v9")),
        f"{AS_DATA}; and {INDEX}",
        ours={f"± spec.kubeadmConfigSpec.files.{POD_PATH}.{IN_POD}.image"},
        item=POD_FILE,
    ),
    "a user's shell": Design(
        Edit("KubeadmControlPlane", (*CONFIG, "users", 0, "shell"), "/bin/sh"),
        INDEX,
        ours={"± spec.kubeadmConfigSpec.users.0.shell"},
        theirs={"± spec.kubeadmConfigSpec.users.ops.shell"},
    ),
    "a mount": Design(
        Edit("DaemonSet", (*WEB, "volumeMounts", 0, "readOnly"), True),
        "Kubernetes knows mounts by their place; dyff takes their names",
        ours={f"+ {FLANNEL}.volumeMounts./run/flannel.readOnly: true"},
        theirs={f"+ {FLANNEL}.volumeMounts.run.readOnly: true"},
    ),
    "a time server": Design(
        Edit("KubeadmControlPlane", (*CONFIG, "ntp", "servers", 0), "10.0.0.9"),
        INDEX,
        ours={f"± {NTP}.0"},
        item=(*CONFIG, "ntp", "servers", 0),
    ),
    "commands in another order": Design(
        Edit("KubeadmControlPlane", (*CONFIG, "preKubeadmCommands"),
             lambda old: [old[1], old[0], *old[2:]]),
        "where order counts, one of two items goes and comes; dyff has a word for it",
        ours={f"- {FIRST_COMMAND}", f"+ {FIRST_COMMAND}"},
        theirs={f"⇆ {COMMANDS}"},
    ),
    "the end of a range": Design(
        Edit("IPPool", ("spec", "pools", 2, "end"), "10.16.9.9"),
        INDEX,
        ours={"± spec.pools.2.end"},
        item=("spec", "pools", 2),
    ),
    "the kind of a reference": Design(
        Edit("ClusterResourceSet", ("spec", "resources", 0, "kind"), "Secret"),
        INDEX,
        ours={"± spec.resources.0.kind"},
        theirs={"± spec.resources.pod-network.kind"},
    ),
}  # fmt: skip


# --- the objects, and their edits -------------------------------------------------------------


@functools.cache
def objects() -> dict[str, Json]:
    """The first object of each kind of a site's machines and pod network, with those in texts."""
    parts = site_objects(all_sites()["tokyo-1"])
    made = [each.body for name in ("machines", "pod-network") for each in parts[name]]
    first: dict[str, Json] = {}
    for body in made:
        first.setdefault(body["kind"], body)
    inner = read_manifests(first["ConfigMap"]["data"]["manifests.yaml"])
    first["Flannel"] = next(each for each in inner if each["kind"] == "ConfigMap")
    files = first["KubeadmControlPlane"]["spec"]["kubeadmConfigSpec"]["files"]
    for body in (*inner, yaml.safe_load(files[-1]["content"])):
        first.setdefault(body["kind"], body)
    return first


def both(edit: Edit, name: str) -> tuple[Json, Json]:
    """The object before and after the edit, under a name that dyff finds both by."""
    before = json.loads(json.dumps(objects()[edit.kind]))
    before["metadata"]["name"] = name
    if edit.kind == "ConfigMap" and edit.at[-1] in ("a", "plain"):
        before["metadata"]["annotations"]["a"] = "1"
        before["data"]["plain"] = "a = 1\n"
    after = node = copy.deepcopy(before)
    *parents, last = edit.at
    for step in parents:
        node = node[step]
    if edit.value is GONE:
        del node[last]
    else:
        node[last] = edit.value(node[last]) if callable(edit.value) else edit.value
    assert dump(before) != dump(after)
    return before, after


# --- what both find, in one form --------------------------------------------------------------


def ours(before: Json, after: Json) -> set[str]:
    """Our changes as dyff would say them; an order of keyed items as ``reordered_lists`` has it."""
    orders = {f"⇆ {dotted(at)}" for at in reordered_lists(before, after)}
    return orders | {said(change) for change in field_changes(before, after)}


def said(change: FieldChange) -> str:
    if change.before is not ABSENT and change.after is not ABSENT:
        return f"± {dotted(change.path)}"
    sign, value = ("+", change.after) if change.before is ABSENT else ("-", change.before)
    in_list = isinstance(change.path[-1], int | Item)
    return f"{sign} {dotted(change.path[:-1] if in_list else change.path)}: {text(value)}"


def dotted(path: Place) -> str:
    return ".".join(map(str, path))


def text(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


def theirs(report: str) -> dict[str, set[str]]:
    """dyff's report as the same lines, by the name of the object."""
    found: dict[str, set[str]] = {}
    for block in re.split(r"^@@ ", report, flags=re.MULTILINE)[1:]:
        head, root, *lines = block.rstrip().split("\n")
        name = root.rpartition("/")[2]
        found.setdefault(name, set()).update(details(head.removesuffix(" @@"), lines))
    return found


def details(path: str, lines: list[str]) -> Iterator[str]:
    for part in "\n".join(lines).removeprefix("! ").split("\n! "):
        sign, *inner = part.split("\n")
        if sign[0] not in "+-":
            yield f"{sign[0]} {path}"
            continue
        # Each line of what comes or goes begins with the sign and a space.
        value = yaml.safe_load("".join(f"{line[2:]}\n" for line in inner))
        if isinstance(value, dict):
            prefix = f"{path}." if path else ""
            yield from (f"{sign[0]} {prefix}{key}: {text(item)}" for key, item in value.items())
        else:
            yield from (f"{sign[0]} {path}: {text(item)}" for item in value)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The findings of dyff in all edits, by the name of each; it starts once."""
    edits = [*AGREED.values(), *(design.edit for design in BY_DESIGN.values())]
    pairs = [both(edit, f"edit-{index}") for index, edit in enumerate(edits)]
    folder = tmp_path_factory.mktemp("dyff")
    files = [folder / "before.yaml", folder / "after.yaml"]
    for file, documents in zip(files, zip(*pairs, strict=True), strict=True):
        file.write_text(dump_all(list(documents)), "utf-8")
    found = theirs(run(*files))
    names = (*AGREED, *BY_DESIGN)
    return {name: found.get(f"edit-{index}", set()) for index, name in enumerate(names)}


def run(before: Path, after: Path) -> str:
    command = [str(program(DYFF)), "--color=off", "between", "--output=github", "--omit-header"]
    done = subprocess.run(
        [*command, str(before), str(after)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.go
@pytest.mark.parametrize("name", AGREED)
def test_dyff_finds_the_same(name: str, judged: dict[str, set[str]]) -> None:
    found = ours(*both(AGREED[name], "x"))
    assert found
    assert found == judged[name]


@pytest.mark.go
@pytest.mark.parametrize("name", BY_DESIGN)
def test_where_dyff_finds_something_else_there_is_a_reason(
    name: str, judged: dict[str, set[str]]
) -> None:
    design = BY_DESIGN[name]
    pair = both(design.edit, "x")
    assert ours(*pair) == design.ours
    assert judged[name] == (another(*pair, design.item) if design.item else design.theirs)


def another(before: Json, after: Json, at: Place) -> set[str]:
    """That the item at a place goes, and another comes."""
    items = [functools.reduce(lambda node, step: node[step], at, each) for each in (before, after)]
    place = dotted(at[:-1])
    return {f"- {place}: {text(items[0])}", f"+ {place}: {text(items[1])}"}
