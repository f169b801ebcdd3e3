"""What a site needs from others: the table prerequisites.toml, with the site's own values."""

from collections.abc import Iterable, Iterator
from operator import attrgetter
from types import SimpleNamespace

from components.machines.in_place import arguments, lacks
from components.making.manifest import Json, Manifest, Target
from components.site import site_objects
from foresite.delivery.servers.apiserver import ApiServer, RefusedError
from schemas.facts.feature_gates import uses_gpu_operator
from schemas.facts.pod_network import enforces_policies
from schemas.facts.secret_references import secret_references
from schemas.facts.site import Site
from schemas.kubernetes.grouping import group_by_key
from schemas.kubernetes.objects import store
from schemas.kubernetes.tables import read_table

_SHOWN = ("cluster", "kinds", "notes", "configuration")
TABLE = read_table(__file__)


def prerequisites(site: Site) -> dict[str, list[Json]]:
    """Operators, Secrets, and what the OS image and the network have to offer."""
    values = _values(site)
    made = [each for manifests in site_objects(site).values() for each in manifests]
    found: dict[str, list[Json]] = {"operators": [], "secrets": list(_secrets(site))}
    found["namespaces"] = [
        {"names": sorted(names), "cluster": target.value}
        for target in Target
        if (names := others_namespaces(each for each in made if each.target is target))
    ]
    for each in operators(made):
        name = f"{each['name']} {each['version'].format(**vars(values))}"
        found["operators"].append({"name": name, **{k: each[k] for k in _SHOWN if k in each}})
        if each["name"] == "Cluster API":
            more = [f"argument {text}" for text in arguments(made)]
            found["operators"][-1]["notes"] = [*each["notes"], *more]
    for section in ("image", "network"):
        found[section] = [
            {"name": each["name"], "needs": each["needs"].format(**vars(values))}
            for each in TABLE[section]
            if attrgetter(each.get("when", "file"))(values)
        ]
    return found


def operators(made: Iterable[Manifest]) -> list[Json]:
    """The operators whose kinds are among a site's objects, with these kinds."""
    found: dict[tuple[Target, str], Json] = {}
    for target, api, kind in sorted({(each.target, *each.key[:2]) for each in made}):
        known = store.kinds().get(f"{api}/{kind}")
        if known is None or known.native:
            continue
        source = store.read(known.file)["source"]
        named = TABLE["operators"].get(source["source"], {})
        new = {"name": source["source"], "version": source["tag"], "notes": [], **named}
        key = target, source["source"]
        entry = found.setdefault(key, {**new, "cluster": target.value, "kinds": []})
        entry["kinds"].append(f"{kind}.{api}")
    return list(found.values())


def _values(site: Site) -> SimpleNamespace:
    """The facts of a site that the table names."""
    cache, pools, boot = site.file.cache, site.file.pools, site.file.first_boot
    own = [m for m in site.models() if not uses_gpu_operator(site, m)]
    return SimpleNamespace(
        file=site.file,
        release=site.release,
        versions=", ".join(sorted({site.version(pool) for pool in pools})),
        protocols=", ".join(sorted({site.profile(pool).bmc.protocol.value for pool in pools})),
        image_disks=cache and not all(site.first_boot(p).data_disks for p in site.cache_pools()),
        toolkit=any(site.accelerators[model].vendor == "nvidia" for model in own),
        unfenced=site.scheduling.teams and not enforces_policies(site),
        bonds=any(each.bonds for each in site.file.host_networks.values()),
        networks=", ".join(site.file.networks),
        dns=", ".join(boot.dns),
        ntp=", ".join(boot.ntp),
    )


def _secrets(site: Site) -> Iterator[Json]:
    """The Secrets of one place and with the same keys together."""
    pairs = (((e.management, e.namespace, e.keys), e.name) for e in secret_references(site))
    for (management, namespace, keys), names in group_by_key(pairs).items():
        cluster = Target.MANAGEMENT if management else Target.SITE
        yield {"names": names, "cluster": cluster.value, "namespace": namespace, "keys": list(keys)}


def others_namespaces(made: Iterable[Manifest]) -> set[str]:
    """The namespaces that a cluster's objects are in and neither Foresite nor Kubernetes makes."""
    made = list(made)
    own = {each.key[3] for each in made if each.kind == "Namespace"}
    return {each.key[2] for each in made} - own - {"", "default", "kube-system", "kube-public"}


def missing_namespaces(server: ApiServer, made: Iterable[Manifest]) -> tuple[list[str], list[str]]:
    """The namespaces of others that are not there, and those that could not be asked for."""
    names = sorted(others_namespaces(made))
    try:
        absent = [name for name in names if server.get(f"/api/v1/namespaces/{name}") is None]
    except RefusedError:
        return [], [f"not asked for the namespaces {', '.join(names)}"]
    why = "objects of the site are made in it, and Foresite does not make it: create it"
    return [f"it has no namespace {name}: {why}" for name in absent], []


def missing_settings(server: ApiServer, made: Iterable[Manifest]) -> tuple[list[str], list[str]]:
    """The arguments that operators run without, and those that could not be asked for."""
    wrong, unknown, made = [], [], list(made)
    for each in operators(made):
        if not any(one.kind == each.get("needed_by") for one in made):
            continue
        name, argument = each["name"], each["argument"]
        given = _arguments(server, each["label"])
        if given is None:
            unknown.append(f"not asked for {argument}: no Deployment of {name} is seen")
        elif given.isdisjoint((argument, f"{argument}=true")):
            wrong.append(f"{name} runs without {argument}=true: {each['why']}; add the argument")
    for wanted in arguments(made):
        given = _arguments(server, "cluster.x-k8s.io/provider%3Dcluster-api")
        if given is None:
            unknown.append(f"not asked for {wanted}: no Deployment of Cluster API is seen")
        elif lacks(given, wanted):
            why = "labels_in_place and taints_in_place would not get to nodes"
            wrong.append(f"Cluster API runs without {wanted}: {why}; add the argument")
    return wrong, unknown


def _arguments(server: ApiServer, label: str) -> set[str] | None:
    """The arguments of the Deployments with a label; None where none is seen."""
    try:
        answer = server.get(f"/apis/apps/v1/deployments?labelSelector={label}") or {}
    except RefusedError:
        return None
    pods = [item["spec"]["template"]["spec"] for item in answer.get("items", ())]
    given = {text for pod in pods for c in pod["containers"] for text in c.get("args", ())}
    return given if pods else None
