"""The state of a site on its way from an empty rack to the first job, by what can be asked. Nothing
is changed, no value of a Secret is asked for, and nobody is logged in to but the API servers. What
could not be asked is said with the reason: it never counts as sound."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from components.making.manifest import Json, Target
from components.making.told import Told
from foresite.command import few
from foresite.delivery.servers.apiserver import ApiServer, Kubectl, NoAnswerError, RefusedError
from foresite.delivery.servers.probe import Need, Objects, contexts_of, missing_context, probe_one
from foresite.delivery.servers.probe import objects_on as made_on
from schemas.facts.adopted import management_names
from schemas.facts.secret_references import SecretReference, secret_references
from schemas.facts.site import Site
from schemas.kubernetes.bodies import items, mapping
from schemas.kubernetes.grouping import group_by_key
from schemas.kubernetes.masking import shorten

PROBLEM, NOT_ASKED, LATER, OK = STATES = ("problem", "not asked", "later", "ok")
"""Results of a check, the most urgent first."""
_SHOWN = 4
_CLOCK = 5.0
"""Seconds between two clocks that have a time server, at most; it is far less."""
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
"""Names and metadata, without data: the record of who wrote which field names the keys. Of Secrets
that ``kubectl apply`` made the metadata repeats the values (``last-applied-configuration``)."""
_SETTLED = {"provisioned", "available", "externally provisioned"}
TOLD = Told(__file__)


class Finding(NamedTuple):
    """A check, its result in words, and what to do; ``names`` are all hosts or Secrets."""

    check: str
    state: str
    text: str
    next: str = ""
    names: tuple[str, ...] = ()


def find(word: str, where: Json, names: tuple[str, ...] = (), **values: object) -> Finding:
    """The finding of a name in doctor.toml."""
    values = {**where, **values, "number": len(names), "names": few(names, _SHOWN)}
    return Finding(**TOLD.table(word, **values), names=names)


def ask_cluster(site: Site, kubectl: Kubectl | None, target: Target) -> Iterator[Finding]:
    """One API server of a site, and what it has of the site; nothing where it names none."""
    context = contexts_of(site).get(target)
    if context is None:
        return
    cluster = "management" if target is Target.MANAGEMENT else "cluster"
    names = management_names(site)
    where = {"site": site.name, "context": context, "cluster": cluster,
             "namespace": names.namespace, "name": names.cluster}  # fmt: skip
    if kubectl is None:
        yield find("no-kubectl", where)
        return
    try:
        servers = kubectl.contexts()
        wrong = missing_context(site, kubectl, context, servers)
    except NoAnswerError as error:
        wrong = f"kubectl cannot read {kubectl.where()}: {error}"
    if wrong:
        yield find("server-problem", where, why=wrong)
        return
    objects = Objects(made_on(site, target), [])
    asked, problems = probe_one(kubectl, context, servers[context], objects, Need.KINDS)
    yield from (find("server-problem", where, why=each) for each in problems)
    yield from (find("server-unasked", where, why=each) for each in asked.unchecked)
    if not problems:
        yield find("server", where, asked=asked._replace(unchecked=()))
    if asked.checked:
        try:
            with ApiServer(kubectl, context) as server:
                yield from _held(site, server, where)
        except (NoAnswerError, RefusedError) as error:
            yield find("server-unasked", where, why=error)


def _held(site: Site, server: ApiServer, where: Json) -> Iterator[Finding]:
    """Clock, hosts and Secrets of a cluster that answers. Raises NoAnswerError, RefusedError."""
    server.get("/version")
    off = server.ahead
    if off is None or abs(off) < _CLOCK:
        yield find("clock-unknown" if off is None else "clock", where)
    else:
        way = "before" if off > 0 else "behind"
        yield find("clock-off", where, seconds=round(abs(off)), way=way)
    management = where["cluster"] == "management"
    if management:
        try:
            yield from _hosts(site, server, where)
        except RefusedError as error:
            yield find("hosts-unasked", where, why=error)
    wanted = (each for each in secret_references(site) if each.management is management)
    for namespace, references in group_by_key((each.namespace, each) for each in wanted).items():
        yield from _secrets(server, references, {**where, "namespace": namespace})
    if management and site.file.cluster.context is None:
        named = f"namespaces/{where['namespace']}/clusters/{where['name']}"
        cluster = server.get(f"/apis/cluster.x-k8s.io/v1beta2/{named}") or {}
        ready = mapping(cluster, "status", "initialization").get("controlPlaneInitialized") is True
        yield find("cluster-ready" if ready else "cluster-wait", where)


def _hosts(site: Site, server: ApiServer, where: Json) -> Iterator[Finding]:
    """The hosts by the state that the Bare Metal Operator reports."""
    path = f"/apis/metal3.io/v1alpha1/namespaces/{where['namespace']}/baremetalhosts"
    items = (server.get(path) or {}).get("items") or ()
    found = {each["metadata"]["name"]: each.get("status") or {} for each in items}
    names = [host.name for host in site.hosts if not host.out]
    there = {name: found[name] for name in names if name in found}
    where = {**where, "all": len(names)}
    missing = tuple(name for name in names if name not in found)
    if missing:
        yield find("hosts-missing" if there else "hosts-none", where, missing)
    wrong = {name: status.get("errorMessage") for name, status in there.items()}
    told = tuple(f"{name} ({shorten(str(why), 120)})" for name, why in wrong.items() if why)
    if told:
        yield find("hosts-error", where, told)
    reported = (mapping(status, "provisioning").get("state") for status in there.values())
    states = Counter(str(each or "without a state") for each in reported)
    said = ", ".join(f"{number} {shorten(state)}" for state, number in sorted(states.items()))
    if said:
        yield find("hosts" if states.keys() <= _SETTLED else "hosts-wait", where, states=said)


def _secrets(server: ApiServer, wanted: list[SecretReference], where: Json) -> Iterator[Finding]:
    """The Secrets of one namespace by name, and the keys that they lack."""
    keys = ", ".join(sorted({key for each in wanted for key in each.keys}))
    where, path = {**where, "all": len(wanted), "keys": keys}, "/api/v1/namespaces/{namespace}"
    path = path.format(**where)
    try:
        if server.get(path) is None:
            yield find("secrets-later", where)
            return
        answer = server.get(f"{path}/secrets?includeObject=Metadata", _TABLE) or {}
    except RefusedError:
        yield find("secrets-unasked", where)
        return
    every = [mapping(row, "object", "metadata") for row in items(answer, "rows")]
    found = {each.get("name"): _keys(each) for each in every}
    if unknown := tuple(each.name for each in wanted if found.get(each.name, ()) is None):
        yield find("secrets-unknown", where, unknown)
    lacking = []
    for each in wanted:
        there = found.get(each.name, ())
        without = [key for key in each.keys if there is not None and key not in there]
        more = f" (without {', '.join(without)})" if each.name in found else ""
        lacking += [each.name + more] if without else []
    if lacking or not unknown:
        yield find("secrets-missing" if lacking else "secrets", where, tuple(lacking))


def _keys(metadata: Json) -> set[str] | None:
    """The names of a Secret's keys, by the record of who wrote which field; None without one."""
    if not (managers := items(metadata, "managedFields")):
        return None
    parts = [mapping(e, "fieldsV1", part) for e in managers for part in ("f:data", "f:stringData")]
    return {key[2:] for part in parts for key in part if key.startswith("f:")}
