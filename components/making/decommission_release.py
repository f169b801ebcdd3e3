"""Objects that a decommissioned site is about to give up, as Pulumi's state has them.

Before they can be left out, Pulumi must know that they are protected no more, and the cluster that
they may be deleted. So they are registered once more, as they were, with that alone changed. What
stands in the state is taken, and not what the site's file would make: nothing is made anew.
"""

import json
from pathlib import Path
from typing import NamedTuple

from components.making.decommission import permit_deletion
from components.making.manifest import Json, Target

VARIABLE = "FORESITE_LEAVING"
"""The environment variable with the path of the file that lists them; ``foresite up`` writes it."""


class ReleasedObject(NamedTuple):
    """One object: the component's class that it belongs to, its Pulumi type and logical name, the
    cluster that it is in, and its body as it was last applied."""

    component: str
    token: str
    name: str
    target: Target
    body: Json

    @property
    def is_forgotten(self) -> bool:
        """True if Pulumi only forgets it: an object of the site's own cluster goes with the
        cluster, whose disks are wiped. To delete it before would take objects that jobs use until
        they are drained, and would wait for controllers that are deleted too."""
        return self.target is Target.SITE

    @property
    def goes_first(self) -> bool:
        """True if all others wait for it: Cluster API takes the machines of a Cluster away in
        order. Until the Cluster is gone it needs the objects that the Cluster refers to (Cluster
        API 1.13, internal/controllers/cluster/cluster_controller.go, reconcileDelete)."""
        return self.token.startswith("kubernetes:cluster.x-k8s.io/") and self.token.endswith(
            ":Cluster"
        )

    def last_body(self, reason: str) -> Json:
        """The body as it is registered for the last time; ``reason`` is the end's."""
        return self.body if self.is_forgotten else permit_deletion(self.body, reason)


def format_release(objects: list[ReleasedObject]) -> str:
    """The file's text."""
    return json.dumps([each._asdict() for each in objects])


def read(path: Path) -> list[ReleasedObject]:
    """The objects of a file that :func:`format_release` made."""
    return [
        ReleasedObject(**{**each, "target": Target(each["target"])})
        for each in json.loads(path.read_text(encoding="utf-8"))
    ]
