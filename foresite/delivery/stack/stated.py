"""The objects of a site's clusters by Pulumi's state, and the operations that a run left open."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from components.effects.kubernetes import HOLDS_DATA
from components.making.manifest import Json, Target, group_kind
from foresite.delivery.stack.engine import Engine
from foresite.delivery.stack.live import Key, key_of
from schemas.kubernetes.bodies import identity

SMALL = 20
"""Objects that hold no data and may go unnamed: an alert rule, a role, a dashboard."""
_GUARD = "argocd.argoproj.io/sync-options"
"""The annotation that every protected or kept object carries (components/making/manifest.py): also
one whose protection somebody took off in the state."""
PROVIDER = "pulumi:providers:kubernetes"


class Ident(NamedTuple):
    """The identity of an object among all others, in whatever version it is written: its cluster,
    group, kind, namespace and name."""

    target: Target
    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """The object for a person: ``BareMetalHost tokyo-1/tokyo-1-a-001``."""
        named = "/".join(filter(None, (self.namespace, self.name)))
        return f"{self.kind} {named}"


def ident(target: Target, body: Json) -> Ident:
    """The identity of an object's body."""
    return Ident(target, *identity(body))


class Stated(NamedTuple):
    """An object in the state. ``protect``: Pulumi refuses to delete it; ``keep``: it stays in the
    cluster when it leaves the state; ``uid`` is the one that its cluster gave it; ``leaving``: a
    run replaced it, and was to delete it."""

    urn: str
    body: Json
    target: Target
    protect: bool = False
    keep: bool = False
    uid: str = ""
    leaving: bool = False

    @property
    def ident(self) -> Ident:
        """The identity among all others."""
        return ident(self.target, self.body)

    @property
    def kind(self) -> str:
        """The object's kind."""
        return str(self.body["kind"])

    def __str__(self) -> str:
        """The object for a person: ``Cluster tokyo-1/tokyo-1``."""
        return str(self.ident)

    @property
    def holds_data(self) -> bool:
        """True if its loss would lose something that is in no Git."""
        options = (self.body["metadata"].get("annotations") or {}).get(_GUARD, "")
        return "Prune=false" in options or group_kind(self.body) in HOLDS_DATA


class State(NamedTuple):
    """The part of a state on a site; ``contexts`` are the clusters that it was last applied to, and
    ``pending`` what a run had begun and not ended, such as ``creating lab-1-a-001``."""

    held: tuple[Stated, ...] = ()
    pending: tuple[str, ...] = ()
    contexts: Mapping[Target, str] = {}


def stated_objects(engine: Engine) -> dict[Key, Stated]:
    """The objects of a stack's state, if something was applied. Raises EngineError."""
    held = held_objects(engine)
    return {key: each for each in held if not each.leaving and (key := key_of(each.urn))}


def held_objects(engine: Engine) -> tuple[Stated, ...]:
    """All objects of a stack's state, also those that are to go. Raises EngineError."""
    return read_state(engine.export_state() or {}).held


def read_state(exported: Json) -> State:
    """The content of ``pulumi stack export``."""
    deployment = exported.get("deployment") or {}
    resources = deployment.get("resources") or []
    held = tuple(_state_object(each) for each in resources if key_of(each["urn"]) and _body(each))
    begun = deployment.get("pending_operations") or []
    named = ((each.get("type", ""), (each.get("resource") or {}).get("urn", "")) for each in begun)
    pending = tuple(f"{kind} {urn.rpartition('::')[2]}" for kind, urn in named)
    return State(held, pending, dict(_contexts(resources)))


def _state_object(resource: Json) -> Stated:
    provider = str(resource.get("provider", "")).rpartition("::")[0].rpartition("::")[2]
    flags = ("protect", "retainOnDelete", "delete")
    protect, keep, leaving = (bool(resource.get(key)) for key in flags)
    uid = ((resource.get("outputs") or {}).get("metadata") or {}).get("uid") or ""
    # What somebody's own provider made counts as the management cluster's: it is not overlooked.
    target = Target(provider) if provider in set(Target) else Target.MANAGEMENT
    return Stated(resource["urn"], _body(resource), target, protect, keep, str(uid), leaving)


def _body(resource: Json) -> Json:
    """The object of a resource; empty for one that is no single object, such as a Helm release."""
    body: Json = resource.get("inputs") or resource.get("outputs") or {}
    return body if {"apiVersion", "kind", "metadata"} <= body.keys() else {}


def _contexts(resources: list[Json]) -> Iterator[tuple[Target, str]]:
    for each in resources:
        name = each["urn"].rpartition("::")[2]
        context = (each.get("inputs") or {}).get("context")
        if each["type"] == PROVIDER and context and name in set(Target):
            yield Target(name), str(context)
