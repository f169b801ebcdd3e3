"""Why a cluster is not adopted as it stands: everything at once, a sentence each. What one object
says by itself is data (refusals.toml). Sources: Cluster API v1.13.6, internal/controllers; CAPM3
v1.13.2, baremetal/metal3machine_manager.go; Bare Metal Operator v0.13.2, host_state_machine.go."""

import functools
from collections.abc import Iterator, Sequence
from typing import Any

from components.making.told import Told
from foresite.adoption.bundle import Bundle, title
from foresite.adoption.shape import Shape, bmc_of, references_of, shape_of, template_of
from schemas.facts.adopted import HOST, KINDS
from schemas.kubernetes.bodies import Json, mapping
from schemas.kubernetes.masking import mask
from schemas.model.hardware import BmcProtocol

TOLD = Told(__file__)


def refusals(bundle: Bundle) -> Iterator[str]:
    """The sentences; none where the cluster can be adopted."""
    clusters = bundle.of("Cluster")
    for body in bundle.objects.values():
        api, wanted = body["apiVersion"], KINDS.get(body["kind"])
        if wanted and api != wanted:
            yield TOLD.say("version", title=title(body), api=api, wanted=wanted)
        yield from sentences(body, TOLD)
    if len(clusters) != 1:
        names = ", ".join(each["metadata"]["name"] for each in clusters[:5]) or "none"
        values = {"namespace": bundle.namespace, "number": len(clusters), "names": names}
        yield TOLD.say("clusters", **values)
        return
    shape = shape_of(bundle)
    for owner in (clusters[0], *shape.owners):
        yield from _owner(bundle, owner)
    versions = {str(mapping(o, "spec", "template", "spec").get("version")) for o in shape.workers}
    if len(versions) > 1:
        yield TOLD.say("versions", versions=", ".join(sorted(versions)))
    known = {each["metadata"]["name"] for owned in shape.machines.values() for each in owned}
    for body in bundle.of("Machine"):
        if body["metadata"]["name"] not in known:
            yield TOLD.say("stray", title=title(body))
        elif body["metadata"]["name"] not in shape.hosts:
            yield TOLD.say("hostless", title=title(body))
    for host in bundle.of(HOST):
        yield from _host(host, shape)


def sentences(body: Json, table: Told) -> Iterator[str]:
    """The sentences of the rows of a table that an object fits."""
    for row in _rows(table):
        fits = [_fits(body, *each) for each in row["when"]] if body["kind"] in row["kinds"] else []
        if fits and all(fit for fit, _ in fits):
            said: str = row["say"].replace("<title>", title(body))
            yield said.replace("<found>", str(fits[-1][1]))


@functools.cache
def _rows(table: Told) -> list[Json]:
    return table.rows("checks", title="<title>", found="<found>")


def _fits(
    body: Json, path: str | list[str], what: str, values: Sequence[Any] = ()
) -> tuple[bool, Any]:
    """True if a condition of a row holds, and the value. A condition of a status goes by its type;
    ``not`` without values is a field that is absent."""
    found: Any = body
    for step in path.split(".") if isinstance(path, str) else path:
        if isinstance(found, list):
            found = next((e for e in found if isinstance(e, dict) and e.get("type") == step), None)
        else:
            found = found.get(step) if isinstance(found, dict) else None
    holds = {"has": found is not None, "is": found in values,
             "any": isinstance(found, list) and any(each in values for each in found),
             "not": found not in values if values else not found}  # fmt: skip
    return holds[what], "none" if found is None else found


def _owner(bundle: Bundle, owner: Json) -> Iterator[str]:
    """What makes machines is at rest, and what it makes them from is there."""
    data = mapping(template_of(bundle, owner), "dataTemplate")
    for each in (*references_of(owner), {**data, "kind": "Metal3DataTemplate"}):
        if each.get("name") and bundle.get(str(each.get("kind")), each["name"]) is None:
            named = {"kind": each.get("kind"), "name": each["name"]}
            yield TOLD.say("missing", title=title(owner), **named)
    if owner["kind"] == "Cluster":
        return
    spec, status, metadata = (mapping(owner, each) for each in ("spec", "status", "metadata"))
    counts = {key: status.get(key, 0) for key in ("replicas", "upToDateReplicas")}
    wrong = [f"{key} {each}" for key, each in counts.items() if each != spec.get("replicas")]
    seen, now = status.get("observedGeneration", 0), metadata.get("generation", 0)
    if wrong := wrong + ["its last change is not seen yet"] * (seen < now):
        yield TOLD.say("rolling", title=title(owner), why=", ".join(wrong))


def _host(host: Json, shape: Shape) -> Iterator[str]:
    holder = mapping(host, "spec", "consumerRef")
    if holder.get("kind") == "Metal3Machine" and host["metadata"]["name"] not in shape.held:
        yield TOLD.say("foreign", title=title(host), holder=f"Metal3Machine {holder.get('name')}")
    if bmc_of(host) is None:
        address = mapping(host, "spec", "bmc").get("address", "none")
        protocols = ", ".join(each.value for each in BmcProtocol)
        values = {"address": mask(str(address)), "protocols": protocols}
        yield TOLD.say("bmc", title=title(host), **values)
