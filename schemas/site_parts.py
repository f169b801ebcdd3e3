"""The parts of a site that components need where it has no site file, and sections in place of its
own. For programs whose clusters others make. Whatever the parts leave out is absent from the
``Site`` that is made of them, so rules that need it say nothing (schemas/reading/partial.py)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, TypeVar, cast

from pydantic import Field

from schemas.facts.site import Site
from schemas.kubernetes.masking import shorten
from schemas.load import Loaded, load_site
from schemas.model import primitives
from schemas.model.cluster import Cluster
from schemas.model.codes import Code
from schemas.model.hardware import HardwareProfile
from schemas.model.management import FOLDER, STACK
from schemas.model.problem import Problem, whole_file
from schemas.model.site_file import Pool, SiteFile, Sources, Zone
from schemas.reading import catalogue
from schemas.reading.host_list import COLUMNS, Host
from schemas.reading.site_files import names_in
from schemas.reading.tree import Folder
from schemas.rules import Finding, HostCell, TextPlace, site_findings
from schemas.rules.finding import Path, advise
from schemas.rules.management import read_management

M = TypeVar("M", bound=primitives.Model)


class Node(primitives.Model):
    """A node of a cluster."""

    name: primitives.DnsLabel
    """Name of the node, equal to that of its host."""
    pool: primitives.PoolName
    """Pool that it belongs to; the node carries it as node.cluster.x-k8s.io/pool."""
    zone: primitives.ZoneName
    """Zone that it is in; the node carries it as topology.kubernetes.io/zone."""
    address: primitives.Ipv4
    """Address of the node."""
    rack: Annotated[str, Field(pattern=f"^(?:{COLUMNS['rack'].pattern})?$")] = ""
    """Rack that it is in, by which dashboards group nodes; leave out where it is not known."""


class SiteParts(primitives.Model):
    """The needs of components besides a site's sections, where others make its machines."""

    site: primitives.SiteName
    """Name of the site; objects carry it as foresite.dev/site."""
    region: primitives.DnsLabel
    """Region of the site."""
    release: str
    """Release that says every version and digest."""
    kubernetes: primitives.KubernetesVersion
    """Version of the cluster."""
    pools: list[Pool]
    """Pools of nodes, the one of the control plane included."""
    nodes: list[Node]
    """All nodes of the cluster."""
    hardware: dict[primitives.DnsLabel, HardwareProfile] = {}
    """Hardware profiles of this site, besides the catalogue's."""
    images: dict[primitives.DnsLabel, primitives.ImageReference] = {}
    """Images by the names that a release gives them, where the release has none."""

    def site_file(self) -> SiteFile:
        """The site file as far as the parts say it; what they leave out raises AttributeError."""
        zones = dict.fromkeys(node.zone for node in self.nodes)
        return _partial(
            SiteFile,
            site=self.site,
            region=self.region,
            release=self.release,
            cluster=_partial(Cluster, kubernetes=self.kubernetes),
            zones=[_partial(Zone, name=name) for name in zones],
            pools=self.pools,
            hardware=self.hardware,
            sources=_partial(Sources, images=self.images),
        )

    def hosts(self) -> tuple[Host, ...]:
        """The nodes as hosts; ``line`` is the node's place in the list, counting from 1."""
        return tuple(
            Host(node.name, node.pool, node.zone, node.rack, "", "", node.address, "", line)
            for line, node in enumerate(self.nodes, start=1)
        )


def site_with(
    where: str, given: Site | SiteParts, sections: Mapping[str, primitives.Model]
) -> Loaded:
    """The site with ``sections`` (by their names in the site file) in place of its own. What is not
    from a site file is judged by the same rules; problems name ``where`` as their file."""
    site = given if isinstance(given, Site) else _site(given)
    if site is None:
        fix = f"write one of {', '.join(catalogue.release_names())}"
        unknown = Finding(Code.UNKNOWN_RELEASE, ("release",), "there is no such release", fix)
        return Loaded(where, None, tuple(_problems(where, [unknown])), None)
    file = site.file.model_copy(update=sections)
    own = file.accelerators.models if file.accelerators else {}
    whole = replace(site, file=file, accelerators={**site.accelerators, **own})
    if whole == given:
        return Loaded(where, whole, (), None)
    problems = tuple(_problems(where, site_findings(whole, holes=site is not given)))
    return Loaded(where, None if problems else whole, problems, None)


def load_stack(root: Folder, name: str) -> Loaded:
    """The site, or the management cluster, of a stack."""
    return (load_management if name.startswith(STACK) else load_site)(root, name)


def load_management(root: Folder, name: str) -> Loaded:
    """A management cluster as a site without hosts, by the name of its file or of its stack."""
    name = name.removeprefix(STACK)
    if (found := read_management(root, name)) is None:
        at, known = f"{FOLDER}/{shorten(name, 200)}.yaml", names_in(root / FOLDER)
        advice = advise(name, known) if known else "add the file"
        lacks = whole_file(at, Code.FILE_MISSING, f"there is no {at}", advice)
        return Loaded(STACK + name, None, (lacks,), None)
    site = None
    if (managed := found.managed) is not None:
        said = {"site": managed.stack, "management": name, "cluster": _partial(Cluster)}
        file = _partial(SiteFile, **said, zones=[], pools=[])
        site = Site(file, (), managed.release, {}, managed=managed)
    return Loaded(STACK + name, site, found.problems, found.document)


def _partial(model: type[M], **known: Any) -> M:
    """A model of what is known; any other required field raises AttributeError."""
    return cast("M", model.model_construct(**known))


def _site(parts: SiteParts) -> Site | None:
    """The site that the parts describe; None where there is no release of that name."""
    release, _ = catalogue.load_release(parts.release)
    if release is None:
        return None
    hardware = {**catalogue.hardware_catalogue().entries, **parts.hardware}
    models = catalogue.accelerator_catalogue().entries
    return Site(parts.site_file(), parts.hosts(), release, hardware, {}, models)


def _problems(where: str, findings: Iterable[Finding]) -> Iterator[Problem]:
    for each in findings:
        yield Problem(where, 0, 0, each.code, _path(each.place), "", each.message, each.fix)


def _path(place: Path | HostCell | TextPlace) -> str:
    """A place as Python would write it: ``cache.buckets[0].quota``, ``nodes[2].address``."""
    if isinstance(place, TextPlace):
        return place.file
    if isinstance(place, HostCell):
        place = ("nodes", place.line - 1, "address" if place.column == "ip" else place.column)
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return "".join(steps).removeprefix(".")
