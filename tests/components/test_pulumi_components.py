"""Components for a Pulumi program of one's own: what each takes, gives and refuses."""

import ast
import inspect
import re
import textwrap
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_args

import pulumi
import pytest
from pydantic import TypeAdapter

from components.object_cache.component import ObjectCache, ObjectCacheArgs
from components.shell import SiteArgs, SiteComponent, WholeSiteArgs
from components.site import COMPONENTS
from components.stack import SHELLS
from components.teams.component import Teams, TeamsArgs
from components.teams.disruptions import NAME as RECORDER
from schemas.facts.site import Site
from schemas.model.object_cache import Bucket, Cache
from schemas.model.primitives import Model
from schemas.model.secrets import Secrets, SecretStore
from schemas.site_parts import Node, SiteParts, site_with
from tests.kit import accelerator_sites, training_site
from tests.kit.charts import with_extra
from tests.kit.management import managed_site
from tests.kit.repository import ROOT, all_sites

SITES = [*all_sites().values(), accelerator_sites.by_dra(), training_site.gangs()]


def parts(site: Site) -> SiteParts:
    """The remaining parts of a site whose machines others make."""
    return SiteParts(
        site=site.name,
        region=site.file.region,
        release=site.file.release,
        kubernetes=site.file.cluster.kubernetes,
        pools=site.file.pools,
        nodes=[
            Node(name=h.name, pool=h.pool, zone=h.zone, address=h.ip, rack=h.rack)
            for h in site.hosts
        ],
        hardware=site.file.hardware,
    )


def arguments(component: type[SiteComponent[Any]]) -> type[SiteArgs]:
    """The type of a component's arguments."""
    (base,) = component.__orig_bases__  # type: ignore[attr-defined]
    found: type[SiteArgs]
    (found,) = get_args(base)
    return found


def sections(component: type[SiteComponent[Any]], site: Site) -> Mapping[str, Model]:
    """The sections of a site that a component takes."""
    own = {each.name for each in fields(arguments(component))} - {f.name for f in fields(SiteArgs)}
    found = {name: getattr(site.file, name) for name in own}
    return {name: each for name, each in found.items() if each is not None}


@pytest.mark.parametrize("component", SHELLS)
def test_the_arguments_are_all_that_a_component_needs(component: str) -> None:
    shell, make = SHELLS[component], COMPONENTS[component].objects
    if issubclass(arguments(shell), WholeSiteArgs):
        return
    for site in SITES:
        found = site_with("here", parts(site), sections(shell, site))
        assert found.site is not None, found.problems
        assert make(found.site) == make(site)


@pytest.mark.parametrize("component", SHELLS)
def test_outputs_are_what_they_are_typed_as(component: str) -> None:
    shell = SHELLS[component]
    own = inspect.get_annotations(shell)
    if component == "secrets":
        store = SecretStore(name="store")
        given = {"secrets": Secrets(management=store, site=store)}
        found = [site_with("here", site, given).site for site in all_sites().values()]
    elif component == "extra":
        found = [with_extra(SITES[0])]
    elif component == "management":
        found = [managed_site(SITES[0])]
    else:
        found = [site for site in SITES if shell.make(site)]
    assert found
    for site in found:
        assert site is not None, component
        values = shell.values(site)
        assert values.keys() == own.keys()
        for name, value in values.items():
            (inner,) = get_args(own[name])
            TypeAdapter(inner).validate_python(value, strict=True)


@pytest.mark.parametrize("component", [*SHELLS.values(), SiteComponent])
def test_every_output_and_argument_is_documented(component: type[SiteComponent[Any]]) -> None:
    for kind in (component, SiteArgs if component is SiteComponent else arguments(component)):
        (node,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
        assert isinstance(node, ast.ClassDef)
        for field, doc in zip(node.body, [*node.body[1:], None], strict=True):
            if isinstance(field, ast.AnnAssign):
                assert isinstance(doc, ast.Expr), f"{kind.__name__}: {ast.unparse(field)}"


def test_outputs_name_what_the_objects_are() -> None:
    tokyo = all_sites()["tokyo-1"]
    made = {name: shell.make(tokyo) for name, shell in SHELLS.items()}
    values = {name: shell.values(tokyo) for name, shell in SHELLS.items() if made[name]}
    (service,) = (each for each in made["object-cache"] if each.kind == "Service")
    assert (values["object-cache"]["namespace"], values["object-cache"]["service"]) == (
        service.body["metadata"]["namespace"],
        service.body["metadata"]["name"],
    )
    assert values["object-cache"]["url"] == "http://cache.cache-service.svc/v1/objects/"
    (metal3,) = (each for each in made["machines"] if each.kind == "Metal3Cluster")
    endpoint = metal3.body["spec"]["controlPlaneEndpoint"]
    assert values["machines"]["endpoint"] == f"https://{endpoint['host']}:{endpoint['port']}"
    resources = values["accelerators"]["resources"]
    assert isinstance(resources, dict)
    assert resources["v100-sxm2-32gb"] == "accelerators.example.com/gpu-v100-32gb"
    spaces = values["teams"]["team_namespaces"]
    assert isinstance(spaces, dict)
    namespaces = [each.key[3] for each in made["teams"] if each.kind == "Namespace"]
    assert [*(name for each in spaces.values() for name in each), RECORDER] == namespaces
    runtimes = [each.key[3] for each in made["training"] if each.kind == "ClusterTrainingRuntime"]
    assert values["training"]["runtimes"] == runtimes


def refused(component: type[SiteComponent[Any]], args: SiteArgs) -> str:
    """The message of a component that refuses its arguments."""
    with pytest.raises(pulumi.RunError) as error:
        component("mine", args)
    return str(error.value)


def test_a_section_with_problems_is_refused_with_the_way_out() -> None:
    lab = all_sites()["lab-1"]
    cache = lab.file.cache
    assert cache is not None
    twice = cache.model_copy(update={"buckets": [*cache.buckets, *cache.buckets]})
    said = refused(ObjectCache, ObjectCacheArgs(site=parts(lab), cache=twice))
    assert "ObjectCache mine" in said
    assert "cache.buckets[1]" in said
    assert "fix: " in said


def test_nodes_of_no_pool_are_refused_at_their_place() -> None:
    lab = all_sites()["lab-1"]
    node = Node(name="lost", pool="elsewhere", zone="lab", address="10.18.0.200")
    site = parts(lab).model_copy(update={"nodes": [*parts(lab).nodes, node]})
    said = refused(ObjectCache, ObjectCacheArgs(site=site, cache=lab.file.cache))
    assert said in (ROOT / "docs" / "pulumi-components.md").read_text("utf-8")
    assert "nodes[3].pool" in said


def test_an_unknown_release_is_refused() -> None:
    lab = all_sites()["lab-1"]
    site = parts(lab).model_copy(update={"release": "1999.01"})
    assert "2026.11" in refused(Teams, TeamsArgs(site=site))


def test_a_component_without_its_section_is_refused() -> None:
    said = refused(ObjectCache, ObjectCacheArgs(site=parts(all_sites()["lab-1"])))
    assert "ObjectCache mine has no objects" in said


def test_a_missing_provider_is_refused_by_the_name_of_its_argument() -> None:
    lab = all_sites()["lab-1"]
    said = refused(ObjectCache, ObjectCacheArgs(site=lab))
    assert "give it as provider" in said
    said = refused(SHELLS["machines"], WholeSiteArgs(site=lab))
    assert "give it as management" in said


def test_a_section_that_is_given_takes_the_place_of_the_sites() -> None:
    lab = all_sites()["lab-1"]
    cache = lab.file.cache
    assert cache is not None
    bucket = Bucket(name="other", quota="1Ti", public=True)
    other = Cache.model_validate({**dict(cache), "buckets": [bucket]})
    found = site_with("here", lab, {"cache": other}).site
    assert found is not None
    assert found.file.cache == other
    assert site_with("here", lab, {}).site == lab


def test_the_page_shows_the_example_and_names_every_output() -> None:
    page = (ROOT / "docs" / "pulumi-components.md").read_text("utf-8")
    example = (ROOT / "docs" / "examples" / "pulumi" / "__main__.py").read_text("utf-8")
    shown = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert shown
    for each in shown:
        assert each in example
    rows = dict(re.findall(r"^\| (\w+) \| `([\w.]+)` \|", page, re.MULTILINE))
    assert rows == {shell.__name__: shell.__module__ for shell in SHELLS.values()}
    for shell in SHELLS.values():
        (row,) = re.findall(rf"^\| {shell.__name__} \|.*\| (.*) \|$", page, re.MULTILINE)
        assert re.findall(r"`(\w+)`", row) == [*inspect.get_annotations(shell)]
