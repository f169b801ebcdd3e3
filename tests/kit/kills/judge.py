"""The judge of kills, which decides if a site is back. It is not the recovery's own.

A plain list of what the API server has, Pulumi's export and Pulumi's preview, each against what the
site renders.
"""

import json
from collections.abc import Iterator
from typing import Any

from deepdiff import DeepDiff

from components.making.manifest import SITE_LABEL, Json
from controlplane import Client
from foresite.delivery.recovery.remains import leftovers
from foresite.delivery.stack.engine import Engine
from schemas.facts.site import Site
from tests.kit.kills.world import World
from tests.kit.trial import manifests_of


def judge(world: World, site: Site, kinds: set[tuple[str, str]]) -> list[str]:
    """The faults in cluster and state, and the changes that a preview would still make."""
    engine = world.engine(site)
    return [*_cluster(world.client, site, kinds), *_state(engine, site), *_rest(engine)]


def _cluster(client: Client, site: Site, kinds: set[tuple[str, str]]) -> Iterator[str]:
    wanted = {each.key: each for each in manifests_of(site)}
    kept = {each.kind for each in wanted.values() if each.keep} | {"KubeadmConfigTemplate"}
    live = {
        (api, kind, body["metadata"].get("namespace", ""), body["metadata"]["name"]): body
        for api, kind in kinds
        for body in client.items(api, kind)
        if (body["metadata"].get("labels") or {}).get(SITE_LABEL) == site.name
    }
    for key in live.keys() - wanted.keys():
        if key[1] not in kept:
            yield f"an orphan in the cluster: {key}"
    for key, manifest in wanted.items():
        if key not in live:
            yield f"lost in the cluster: {key}"
            continue
        for difference in _unlike(manifest.body, live[key]):
            yield f"{key}: {difference}"
        for path in map(".".join, leftovers(live[key], manifest.body)):
            if path not in manifest.ignore:
                yield f"{key}: {path} is left over"


def _unlike(wanted: Json, live: Json) -> list[str]:
    """The differences that DeepDiff finds in the fields that a site sets; fields that the server
    adds are its own."""
    diff = DeepDiff(wanted, _common(wanted, live))
    return [f"{kind}: {found}" for kind, found in diff.items()]


def _common(wanted: Any, live: Any) -> Any:
    if isinstance(wanted, dict) and isinstance(live, dict):
        return {key: _common(value, live[key]) for key, value in wanted.items() if key in live}
    if isinstance(wanted, list) and isinstance(live, list) and len(wanted) == len(live):
        return [_common(*pair) for pair in zip(wanted, live, strict=True)]
    return live


def _state(engine: Engine, site: Site) -> Iterator[str]:
    deployment = (engine.export_state() or {})["deployment"]
    for each in deployment.get("pending_operations") or ():
        yield f"pending: {each['type']} {each['resource']['urn']}"
    held = [each for each in deployment["resources"] if each["type"].startswith("kubernetes:")]
    known = {each["urn"].rpartition("::")[2]: each["inputs"] for each in held}
    wanted = {each.name: each.body for each in manifests_of(site)}
    if len(held) != len(known):
        yield "an object is twice in the state"
    diff = DeepDiff(wanted, known)
    if diff:
        yield f"the state is not as rendered: {diff.pretty()[:500]}"


def _rest(engine: Engine) -> Iterator[str]:
    if engine.locks() or engine.noted_objects() or engine.was_interrupted():
        yield "a lock or a note is left"
    done = engine.run("preview", "--json", "--stack", engine.stack, "--non-interactive")
    steps = json.loads(done.stdout).get("steps", ()) if done.returncode == 0 else None
    if steps is None:
        yield f"the preview fails: {done.stderr[-500:]}{done.stdout[-500:]}"
        return
    for step in steps:
        if step["op"] != "same":
            yield f"the next preview has a step: {step['op']} {step['urn']}"
