"""What Pulumi's state says that a site's clusters have, object by object."""

from typing import NamedTuple

from components.impact.kubernetes import HOLDS_DATA
from components.manifest import Json, Target
from foresite.stack.engine import Engine
from foresite.stack.live import Key, key_of

_GUARD = "argocd.argoproj.io/sync-options"
"""The annotation that every protected or kept object carries (components/manifest.py): also one
whose protection somebody took off in the state."""


class Stated(NamedTuple):
    """An object in the state. ``protect``: Pulumi refuses to delete it; ``keep``: it stays in the
    cluster when it leaves the state; ``uid`` is the one that its cluster gave it."""

    urn: str
    body: Json
    target: Target
    protect: bool
    keep: bool
    uid: str

    @property
    def place(self) -> tuple[str, str, str, str]:
        """What tells it from all others of its cluster: group, kind, namespace, name."""
        metadata = self.body["metadata"]
        group = str(self.body["apiVersion"]).rpartition("/")[0]
        return group, self.kind, metadata.get("namespace", ""), metadata["name"]

    @property
    def kind(self) -> str:
        """The object's kind."""
        return str(self.body["kind"])

    @property
    def title(self) -> str:
        """The object for a person: ``Cluster tokyo-1/tokyo-1``."""
        _, kind, namespace, name = self.place
        return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"

    @property
    def holds_data(self) -> bool:
        """Whether something is lost with it that is in no Git."""
        options = (self.body["metadata"].get("annotations") or {}).get(_GUARD, "")
        return "Prune=false" in options or self.kind in HOLDS_DATA


def stated(engine: Engine) -> dict[Key, Stated]:
    """The objects of a stack's state; none where nothing was applied yet.

    Raises EngineError where Pulumi cannot say.
    """
    deployment = (engine.exported() or {}).get("deployment") or {}
    found = {}
    for resource in deployment.get("resources") or ():
        key = key_of(resource["urn"])
        if key is not None and not resource.get("delete") and "inputs" in resource:
            found[key] = _one(resource)
    return found


def _one(resource: Json) -> Stated:
    provider = str(resource.get("provider", "")).rpartition("::")[0].rpartition("::")[2]
    live = resource.get("outputs") or {}
    return Stated(
        resource["urn"],
        resource["inputs"],
        Target(provider),
        bool(resource.get("protect")),
        bool(resource.get("retainOnDelete")),
        str((live.get("metadata") or {}).get("uid", "")),
    )
