"""The API server's own word on an adoption, and the hand-over of fields after it. A server-side dry
run as Foresite, without force: webhooks are asked too, another value is a conflict, and a spec that
changes has another ``generation``. Pulumi's preview proves nothing here: it forces where its state
has no object (pulumi-kubernetes v4.25.0, await.go)."""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from components.making.manifest import FIELD_MANAGER, Json, Manifest, Target, group_kind
from components.site import objects_by_name
from foresite.adoption.bundle import title
from foresite.adoption.engines import of_engines, owners
from foresite.adoption.shape import key_of
from foresite.command import UsageError
from foresite.delivery.servers.apiserver import Kubectl
from schemas.facts.adopted import KINDS
from schemas.facts.site import Site
from schemas.kubernetes.bodies import items, mapping
from schemas.reading.bounded import parse_json

_THREADS = 8
_SECONDS = "--request-timeout=60s"
_APPLY = ("apply", "--server-side", f"--field-manager={FIELD_MANAGER}", "--dry-run=server")


class Cluster(NamedTuple):
    """A management cluster, and the objects that a site has there."""

    kubectl: Kubectl
    context: str
    made: list[Manifest]

    @classmethod
    def of(cls, kubectl: Kubectl, site: Site) -> "Cluster":
        """The management cluster of a site."""
        every = objects_by_name(site).values()
        made = [each for each in every if each.target is Target.MANAGEMENT]
        return cls(kubectl, site.file.management, made)

    def ask(self, *command: str, bodies: Sequence[Json] = ()) -> tuple[list[Json], str]:
        """What kubectl answers, and what it complains of."""
        given = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(bodies)})
        files = ("--filename", "-", "--output", "json") if bodies else ()
        done = self.kubectl.run("--context", self.context, *command, *files, _SECONDS, given=given)
        if done.returncode:
            return [], done.stderr.strip() or "kubectl failed"
        found = parse_json(done.stdout) if bodies and done.stdout.strip() else {}
        return items(found, "items") if found.get("kind") == "List" else [found] * bool(found), ""

    def live(self) -> list[Json]:
        """The objects of adopted kinds as they are, with their owners. Raises UsageError."""
        bodies = [each.body for each in self.made if each.kind in KINDS]
        how = ("get", "--ignore-not-found", "--show-managed-fields")
        found, complaint = self.ask(*how, bodies=bodies)
        if complaint:
            raise UsageError(f"{self.context}: nothing was asked: {complaint.splitlines()[0]}")
        return found


def conflicts(cluster: Cluster, live: list[Json]) -> list[str]:
    """What the server refuses, or would change of what makes machines; none is the proof."""
    bodies = [each.body for each in cluster.made]
    there = {key_of(each): each for each in live}
    wanted = [each for each in bodies if each["kind"] in KINDS]
    wrong = [f"{title(b)} is not in the cluster" for b in wanted if key_of(b) not in there]
    answers, complaint = cluster.ask(*_APPLY, bodies=bodies)
    if complaint:  # of many objects at once kubectl does not say which
        with ThreadPoolExecutor(_THREADS) as pool:
            each = pool.map(lambda body: cluster.ask(*_APPLY, bodies=[body])[1], bodies)
            pairs = zip(bodies, each, strict=True)
            told = [f"{title(body)}: {_first(why)}" for body, why in pairs if why]
        return wrong + (told or [_first(complaint)])
    if len(answers) != len(bodies):
        wrong.append(f"{len(answers)} of {len(bodies)} objects were answered")
    for answer in answers:
        old = mapping(there.get(key_of(answer), {}), "metadata").get("generation")
        new = mapping(answer, "metadata").get("generation")
        if answer["kind"] in KINDS and old != new:
            wrong.append(f"{title(answer)}: its spec would change (generation {old} -> {new})")
    return wrong


def _first(complaint: str) -> str:
    """A complaint without the advice that kubectl gives on conflicts."""
    return " ".join(complaint.partition("\nPlease review")[0].split())[:500]


def hand_over(cluster: Cluster, live: list[Json]) -> list[str]:
    """Make Foresite the owner of what the old engines own; else a field that is left out later
    stays for ever, as its other owner still has it. Raises UsageError, mostly before the first."""
    made = {key_of(each.body): each.body for each in cluster.made}
    mine = [each for each in live if of_engines(each)]
    wrong = [f"{title(each)}: foresite up has not run" for each in mine if not _ours(each)]
    for each in mine:
        wrong += [f"{title(each)}: {path} is not in the site: the next up would take it away"
                  for path in _uncovered(each, made[key_of(each)])]  # fmt: skip
    if wrong:
        raise UsageError("\n  ".join(["nothing was handed over", *wrong]))
    return [_patch(cluster, each) for each in mine]


def _ours(body: Json) -> list[Json]:
    return [e for e in owners(body) if (e["manager"], e["operation"]) == (FIELD_MANAGER, "Apply")]


def _uncovered(live: Json, made: Json) -> Iterator[str]:
    """The fields of the spec that an engine owns and the site does not say."""
    for entry in of_engines(live):
        yield from _missing(mapping(entry, "fieldsV1", "f:spec"), made["spec"], "spec")


def _missing(owned: Json, made: object, path: str) -> Iterator[str]:
    for key, below in owned.items():
        if key.startswith("f:") and isinstance(made, dict):
            if key[2:] in made:
                yield from _missing(below, made[key[2:]], f"{path}.{key[2:]}")
            else:
                yield f"{path}.{key[2:]}"


def _patch(cluster: Cluster, body: Json) -> str:
    """One entry of managedFields in place of ours and the engines'; nothing else changes."""
    metadata, (own, *_) = body["metadata"], _ours(body)
    gone = [own, *of_engines(body)]
    rest = [each for each in metadata["managedFields"] if each not in gone]
    union: Json = {}
    for each in gone:
        union = _union(union, each["fieldsV1"])
    operations = [
        {"op": "test", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]},
        {"op": "replace", "path": "/metadata/managedFields",
         "value": [{**own, "fieldsV1": union}, *rest]},
    ]  # fmt: skip
    named = (group_kind(body), metadata["name"], "--namespace", metadata["namespace"])
    _, complaint = cluster.ask("patch", *named, "--type=json", f"--patch={json.dumps(operations)}")
    if complaint:
        raise UsageError(f"{title(body)}: {complaint}; run the same command again")
    return title(body)


def _union(one: Json, other: Json) -> Json:
    return {key: _union(one.get(key, {}), other.get(key, {})) for key in {**one, **other}}
