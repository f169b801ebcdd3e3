"""Writes what each tool needs to make the same objects, in the form that its users would choose.

docs/benchmarks.md says why each form is fair. Templates are files in bench/rivals; here they meet
the facts of each site.

The facts are taken from the objects that Foresite makes: what hosts of a pool have in common is
said once, for the pool; what differs is a line for each host. Objects that no host list goes into
are ready-made: other tools need not compute what Foresite does (hashes, versions, defaults).
"""

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from bench.fleet import ROOT
from components.machines.names import (
    BOOT_MAC_ANNOTATION,
    FAILURE_DOMAIN_LABEL,
    POOL_LABEL,
    RACK_LABEL,
    SERIAL_ANNOTATION,
    ZONE_LABEL,
)
from components.making.dump import dump, dump_all
from components.making.manifest import Json
from components.site import site_objects
from foresite.commands.render import rendered_body
from schemas.facts.site import Site

RIVALS = ROOT / "bench" / "rivals"
HOST, ADDRESSES = "BareMetalHost", "IPPool"
OF_A_HOST = {
    "labels": (RACK_LABEL, ZONE_LABEL, FAILURE_DOMAIN_LABEL),
    "annotations": (BOOT_MAC_ANNOTATION, SERIAL_ANNOTATION),
    "spec": ("bmc", "bootMACAddress"),
    "bmc": ("address", "credentialsName"),
}
"""Fields that differ from host to host, by the map that they are in."""
_COLUMNS = ("name", "zone", "rack", "bmc", "mac", "ip", "serial")


def objects_of(site: Site) -> list[Json]:
    """Every object of a site, as ``foresite render`` writes it."""
    return [rendered_body(each) for made in site_objects(site).values() for each in made]


def facts_of(site: Site) -> Json:
    """A site's pools with their hosts, its addresses without hosts, and all its other objects."""
    bodies = objects_of(site)
    by_name = {body["metadata"]["name"]: body for body in bodies if body["kind"] == HOST}
    (addresses,) = (body for body in bodies if body["kind"] == ADDRESSES)
    pools = []
    for pool in site.file.pools:
        hosts = site.hosts_of(pool)
        rows = [{column: getattr(host, column) for column in _COLUMNS} for host in hosts]
        common = _common(by_name[hosts[0].name], hosts[0].bmc)
        pools.append({"name": pool.name, **common, "hosts": rows})
    return {
        "name": site.name,
        "pools": pools,
        "addresses": {**addresses, "spec": without(addresses["spec"], ["preAllocations"])},
        "objects": [body for body in bodies if body["kind"] not in (HOST, ADDRESSES)],
    }


def without(fields: Json, names: Iterable[str]) -> Json:
    """``fields`` but for those of ``names``."""
    dropped = set(names)
    return {key: value for key, value in fields.items() if key not in dropped}


def _common(body: Json, bmc: str) -> Json:
    """The common part of a host and the others of its pool."""
    parts = {**body["metadata"], "spec": body["spec"], "bmc": body["spec"]["bmc"]}
    scheme, _, rest = parts["bmc"]["address"].partition("://")
    common: Json = {name: without(parts[name], fields) for name, fields in OF_A_HOST.items()}
    return {**common, "scheme": scheme, "path": rest.removeprefix(bmc)}


TEMPLATES = ("hosts.yaml", "addresses.yaml")


def write(folder: Path, root: Path, sites: list[Site]) -> None:
    """The inputs of all tools for ``sites`` of the repository ``root``, each in a folder."""
    facts = {site.name: facts_of(site) for site in sites}
    _json(folder / "json", root, facts)
    _helm(folder / "helm", facts)
    _jsonnet(folder / "jsonnet", facts)
    _cue(folder / "cue", facts)
    _kustomize(folder / "kustomize", {site.name: objects_of(site) for site in sites}, facts)


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _json(folder: Path, root: Path, facts: dict[str, Json]) -> None:
    """The facts but for the hosts, which are in the site's own host list."""
    for name, site in facts.items():
        pools = [without(pool, ["hosts"]) for pool in site["pools"]]
        _put(folder / f"{name}.json", json.dumps({**site, "pools": pools}))
        hosts = f"{name}.hosts.csv"
        shutil.copyfile(root / "sites" / hosts, folder / hosts)


def _helm(folder: Path, facts: dict[str, Json]) -> None:
    """A chart a site, with hosts as values; one chart around them all."""
    _put(folder / "Chart.yaml", dump({"apiVersion": "v2", "name": "fleet", "version": "1.0.0"}))
    for name, site in facts.items():
        chart = folder / "charts" / name
        _put(chart / "Chart.yaml", dump({"apiVersion": "v2", "name": name, "version": "1.0.0"}))
        _put(chart / "values.yaml", dump(without(site, ["objects"])))
        for template in TEMPLATES:
            _put(chart / "templates" / template, (RIVALS / "helm" / template).read_text("utf-8"))
        ready = dump_all(site["objects"]).replace("{{", '{{ "{{" }}')
        _put(chart / "templates" / "objects.yaml", ready)


def _jsonnet(folder: Path, facts: dict[str, Json]) -> None:
    """A function from facts to objects; a file that calls it for each site, and one for all."""
    library = RIVALS / "jsonnet" / "site.libsonnet"
    _put(folder / library.name, library.read_text("utf-8"))
    head = f"local site = import '{library.name}';\n"
    for name, site in facts.items():
        _put(folder / f"{name}.json", json.dumps(site, indent=1))
        _put(folder / f"{name}.jsonnet", f"{head}site(std.parseJson(importstr '{name}.json'))\n")
    calls = [f"  '{name}': site(std.parseJson(importstr '{name}.json')),\n" for name in facts]
    _put(folder / "fleet.jsonnet", f"{head}{{\n{''.join(calls)}}}\n")


def _cue(folder: Path, facts: dict[str, Json]) -> None:
    """A comprehension over sites, pools and hosts; a file of facts a site."""
    template = RIVALS / "cue" / "site.cue"
    _put(folder / template.name, template.read_text(encoding="utf-8"))
    for name, site in facts.items():
        text = json.dumps(site, indent=1)
        _put(folder / f"{name}.cue", f'package fleet\n\n_sites: "{name}": {text}\n')


def _kustomize(folder: Path, objects: dict[str, list[Json]], facts: dict[str, Json]) -> None:
    """A folder a site: each host as a resource of its own, what a pool's have in common as a patch.

    Kustomize has no loops, so the addresses of all hosts are written out.
    """
    for name, bodies in objects.items():
        labels = [set(body["metadata"]["labels"].items()) for body in bodies]
        shared = dict(sorted(set.intersection(*labels)))
        rest = [_without_labels(body, shared) for body in bodies if body["kind"] != HOST]
        hosts = [_own_fields(body) for body in bodies if body["kind"] == HOST]
        _put(folder / name / "objects.yaml", dump_all(rest))
        _put(folder / name / "hosts.yaml", dump_all(hosts))
        settings = {
            "resources": ["hosts.yaml", "objects.yaml"],
            "labels": [{"pairs": shared}],
            "patches": list(_patches(facts[name]["pools"], shared)),
        }
        _put(folder / name / "kustomization.yaml", dump(settings))


def _without_labels(body: Json, names: dict[str, str]) -> Json:
    metadata = body["metadata"]
    labels = without(metadata["labels"], names)
    rest = {**without(metadata, ["labels"]), **({"labels": labels} if labels else {})}
    return {**body, "metadata": rest}


def _own_fields(body: Json) -> Json:
    """A host with the fields that no other host of its pool has, and the name of its pool."""
    metadata, spec = body["metadata"], body["spec"]
    parts = {**metadata, "spec": spec, "bmc": spec["bmc"]}
    own: Json = {
        name: {key: value for key, value in parts[name].items() if key in fields}
        for name, fields in OF_A_HOST.items()
    }
    pool = {POOL_LABEL: metadata["labels"][POOL_LABEL]}
    named = {"labels": {**pool, **own["labels"]}, "annotations": own["annotations"]}
    bodies = {"metadata": {**metadata, **named}, "spec": {**own["spec"], "bmc": own["bmc"]}}
    return {**body, **bodies}


def _patches(pools: list[Json], shared: dict[str, str]) -> Iterator[Json]:
    for pool in pools:
        own = {"labels": without(pool["labels"], shared), "annotations": pool["annotations"]}
        spec = {**pool["spec"], "bmc": pool["bmc"]}
        patch = {"kind": HOST, "metadata": {"name": "any", **own}, "spec": spec}
        selector = f"{POOL_LABEL}={pool['name']}"
        yield {"target": {"kind": HOST, "labelSelector": selector}, "patch": dump(patch)}
