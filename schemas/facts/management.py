"""A management cluster with all that its file names, and what its controllers run with."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from schemas.kubernetes.bodies import Json, items, mapping
from schemas.kubernetes.manifests import read_manifests
from schemas.model.management import FOLDER, LABELS, STACK, ManagementFile
from schemas.model.release import Release

PREALLOCATION = "--enable-bmh-name-based-preallocation"
SYNC = "--additional-sync-machine-labels"
TAINTS = "MachineTaintPropagation"


@dataclass(frozen=True, slots=True)
class Managed:
    """One management cluster; ``texts`` are the manifests that it names, by path."""

    file: ManagementFile
    release: Release
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name, which is also the kubeconfig context."""
        return self.file.management

    @property
    def stack(self) -> str:
        """The name of its stack, and of the folder that it is rendered to."""
        return STACK + self.name

    @property
    def path(self) -> str:
        """Its file."""
        return f"{FOLDER}/{self.name}.yaml"

    def vendored(self) -> Iterator[Json]:
        """The objects of its manifests."""
        for each in self.file.manifests:
            yield from read_manifests(self.texts.get(each.file, ""))

    def tags(self, program: str) -> Iterator[str]:
        """The tags of a program's images in its manifests; empty for an image without one."""
        for each in _containers(self.vendored()):
            last = str(each.get("image", "")).partition("@")[0].rpartition("/")[2]
            name, _, tag = last.partition(":")  # a colon before the last slash is of a port
            if name == program:
                yield tag

    def arguments(self) -> frozenset[str]:
        """The arguments of the managers, as far as a file says them."""
        if self.file.providers is None:
            said = (each.get("args") for each in _containers(self.vendored()))
            return frozenset(str(arg) for args in said if isinstance(args, list) for arg in args)
        sync = [f"{SYNC}={','.join(self.file.sync_labels)}"] if self.file.sync_labels else []
        gates = [f"--feature-gates={TAINTS}=true"] if self.file.taints_in_place else []
        return frozenset([f"{PREALLOCATION}=true", *sync, *gates])

    def syncs(self, label: str) -> bool:
        """True if Cluster API keeps a label on nodes."""
        known = (each for each in self._values(SYNC) if re.fullmatch(LABELS, each))
        return any(re.search(each, label) for each in known)

    @property
    def keeps_taints(self) -> bool:
        """True if Cluster API keeps taints on nodes."""
        return f"{TAINTS}=true" in self._values("--feature-gates")

    def _values(self, name: str) -> list[str]:
        given = (each.partition("=") for each in self.arguments())
        return [value for key, _, said in given if key == name for value in said.split(",")]


def _containers(objects: Iterator[Json]) -> Iterator[Json]:
    for body in objects:
        pods = mapping(body, "spec", "template", "spec") if body["kind"] == "Deployment" else {}
        yield from items(pods, "containers")
