"""Jobs of the sites that operators would write, on one twin: each site's own objects, nodes of its
host list, and what ``foresite job`` prints, placed by the real schedulers, Kueue and Volcano.

Not real: the device plugins (nodes tell what they would advertise) and NVIDIA's DRA driver (the
test writes its ResourceSlices and the claim template of a ComputeDomain). Kueue has the
configuration of the prerequisites.
"""

import shutil
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from components.accelerators.objects import objects as accelerators
from components.machines.arguments import scheduler_file
from components.making.manifest import Json, Manifest
from components.making.rdma import needs
from components.schedulers.objects import objects as schedulers
from components.teams.objects import objects as teams
from foresite.cli import main
from foresite.delivery.servers.prerequisites import TABLE
from schemas.facts.feature_gates import api_server_gates, counted_models, runtime_config
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL, RACK_LABEL
from schemas.kubernetes.objects import load_crds, store
from schemas.load import load_site
from schemas.model.site_file import Pool
from tests.controlplane.test_twin_queues import OTHERS, QUEUES
from tests.kit.accelerator_pods import answer, apply, limits, namespaces, pod, until
from tests.kit.repository import FIELD, FLEET
from tests.kit.scheduling_world import eventually
from tests.kit.twin import operators
from tests.kit.twin.cluster import Parts, twin
from tests.kit.twin.nodes import site_nodes
from tests.kit.twin.watch import Watch
from tests.kit.twin.world import World

pytestmark = [pytest.mark.scheduling, pytest.mark.proof]
CHANNELS = "compute-domain.nvidia.com"
IMAGE = "registry.example/train:1"


class Case(NamedTuple):
    """A job of a site: its team and model, its workers, and the pool that it lands in."""

    site: str
    team: str
    model: str
    workers: int
    pool: str
    more: tuple[str, ...] = ()


JOBS = [
    Case("sapporo-1", "models", "gb200-192gb", 18, "gb200"),
    Case("nvl-2", "models", "gb200-192gb", 18, "gb200"),
    Case("mi300-1", "llm", "mi300x-192gb", 6, "mi300x", ("--rdma",)),
    Case("mig-1", "lab", "a100-sxm4-80gb", 3, "train"),
    Case("mig-1", "students", "a100-sxm4-80gb-1g-10gb", 1, "notebooks", ("--per-worker", "1")),
    Case("mn-1", "research", "mncore2", 12, "mncore"),
]
TEMPLATE: Json = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate"}
# mn-1 first: it has no Kueue, which from its start on holds the jobs of all teams.
ROOTS = {"mn-1": FIELD, "sapporo-1": FLEET, **dict.fromkeys(("nvl-2", "mi300-1", "mig-1"), FIELD)}


def loaded(root: Path, name: str) -> Site:
    found = load_site(root, name)
    assert found.site is not None, [str(each) for each in found.problems]
    return found.site


def advertised(site: Site, pool: Pool) -> dict[str, str]:
    """The plugin's resource, of slices where the pool is shared, the model's that node feature
    discovery gives (test_twin_queues.py), and network devices."""
    found = dict.fromkeys(needs(site, pool, "").resources, "1000")
    if model := site.model(pool):
        found[site.accelerators[model].plugin.resource] = str(site.devices(pool))
        if model in counted_models(site):
            found[site.resource(model)] = str(site.devices(pool))
    return found


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A control plane with the gates, APIs and ignored resources that all the sites need."""
    sites, found = [loaded(root, name) for name, root in ROOTS.items()], operators.tools()
    groups = (*OTHERS, "resource.nvidia.com")
    crds = load_crds([name for name in store.kinds() if name.partition("/")[0] in groups])
    known = {crd["metadata"]["name"] for crd in crds}
    crds += [crd for crd in operators.own_crds(found) if crd["metadata"]["name"] not in known]
    files = [yaml.safe_load(text) for site in sites if (text := scheduler_file(site))]
    ignored = [each["profiles"][0]["pluginConfig"][0]["args"]["ignoredResources"] for each in files]
    files[0]["profiles"][0]["pluginConfig"][0]["args"]["ignoredResources"] = [*chain(*ignored)]
    parts: Parts = {
        "gates": {gate: on for site in sites for gate, on in api_server_gates(site).items()},
        "runtime": tuple({each for site in sites for each in runtime_config(site)}),
        "default": {key: files[0][key] for key in ("apiVersion", "kind", "profiles")},
        "crds": [operators.installed(crd) for crd in crds],
    }
    with twin(tmp_path_factory.mktemp("field"), **parts) as t, Watch(t.access) as watch:
        operators.volcano(t, found)
        namespaces(t.client)
        yield World(t, watch, sites[0], {})
        t.check()


def completed(resource: str, said: Json | str) -> bool:
    return resource in limits(said)


def stand(here: World, site: Site) -> list[Manifest]:
    """Put the objects and nodes of a site up, until its admission completes pods."""
    client, found = here.t.client, operators.tools()
    if (
        any(each.kind == "kueue" for each in site.scheduling.backends)
        and "kueue" not in here.t.pids()
    ):
        configuration = TABLE["operators"]["kubernetes-sigs/kueue"]["configuration"]
        operators.kueue(here.t, found, configuration)
        operators.jobset(here.t, found)
    made = [*accelerators(site), *schedulers(site), *teams(site)]
    apply(client, made)
    nodes = site_nodes(site, advertised)
    here.t.create([*nodes, *channels(nodes, made)])
    names = {each["metadata"]["name"] for each in nodes}
    here.watch.until("nodes", lambda: names <= here.watch.ready_nodes())
    for pool in site.worker_pools:
        if model := site.model(pool):
            wanted = site.accelerators[model].plugin.resource
            body = pod({"limits": {site.resource(model): "1"}}, space="accelerator-platform")
            until(partial(answer, client, body), partial(completed, wanted))
    for space in {each for team in site.scheduling.teams for each in team.namespaces}:
        account = partial(client.get, "v1", "ServiceAccount", "default", space)
        eventually("an account", account)
    return [*made, *(Manifest("", each) for each in nodes)]


def channels(nodes: list[Json], made: list[Manifest]) -> Iterator[Json]:
    """What the DRA driver reports of nodes, where a site has ComputeDomains."""
    if not any(each.kind == "DeviceClass" for each in made):
        return
    device = {"name": "channel-0", "attributes": {"type": {"string": "channel"}, "id": {"int": 0}}}
    for name in (each["metadata"]["name"] for each in nodes):
        spec = {"driver": CHANNELS, "nodeName": name, "devices": [device],
                "pool": {"name": name, "generation": 1, "resourceSliceCount": 1}}  # fmt: skip
        yield {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
               "metadata": {"name": name}, "spec": spec}  # fmt: skip


def printed(root: Path, case: Case, capsys: pytest.CaptureFixture[str]) -> list[Json]:
    """What ``foresite job`` prints for the case."""
    words = ["--root", str(root), "job", case.site, "all-reduce", "--team", case.team, "--model",
             case.model, "--workers", str(case.workers), "--image", IMAGE, *case.more]  # fmt: skip
    capsys.readouterr()
    assert main(words) == 0, capsys.readouterr()
    return [each for each in yaml.safe_load_all(capsys.readouterr().out) if each]


def start(here: World, made: list[Json]) -> str:
    """Create the objects of a job; their namespace."""
    for body in made:
        if body["kind"] == "ComputeDomain":
            requests = [{"name": "channel", "exactly": {
                "deviceClassName": "compute-domain-default-channel.nvidia.com"}}]  # fmt: skip
            spec = {"spec": {"devices": {"requests": requests}}}
            here.t.client.create({**TEMPLATE, "spec": spec, "metadata": body["metadata"]})
        here.t.client.create(body)
    space: str = made[-1]["metadata"]["namespace"]
    return space


def landed(here: World, space: str, count: int) -> list[Json]:
    """Wait for the binding of a job's pods; the labels of their nodes."""
    here.watch.until("the job", lambda: len(here.watch.bound(space)) == count, 40)
    nodes = set(here.watch.bound(space).values())
    return [each["metadata"]["labels"] for each in here.watch.nodes()
            if each["metadata"]["name"] in nodes]  # fmt: skip


def end(here: World, space: str, made: list[Json]) -> None:
    """Delete a job, and what the DRA driver would have deleted with its ComputeDomain."""
    templates = here.t.client.items("resource.k8s.io/v1", "ResourceClaimTemplate")
    here.t.delete([{**TEMPLATE, **body} for body in templates])
    for each in made:
        path = here.t.client._path(each["apiVersion"], each["kind"], space)
        name = each["metadata"]["name"]
        here.t.client.request("DELETE", f"{path}/{name}?propagationPolicy=Background")
    here.watch.until("no pods", lambda: not here.watch.pods(space))
    eventually("no workloads", lambda: not here.t.client.items(QUEUES, "Workload", space))


def remove(here: World, made: list[Manifest]) -> None:
    """Take a site away again; its namespaces stay, as others have some of the same names."""
    bodies = [each.body for each in reversed(made) if each.kind != "Namespace"]
    slices = here.t.client.items("resource.k8s.io/v1", "ResourceSlice")
    bodies += [{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", **s} for s in slices]
    here.t.delete(bodies)
    here.watch.until("no nodes", lambda: not here.watch.nodes())


@pytest.mark.parametrize("name", ROOTS)
def test_jobs_land_in_the_pool_of_their_model(
    here: World, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    site = loaded(ROOTS[name], name)
    up = stand(here, site)
    for case in (each for each in JOBS if each.site == name):
        made = printed(ROOTS[name], case, capsys)
        space = start(here, made)
        assert {each[POOL_LABEL] for each in landed(here, space, case.workers)} == {case.pool}
        end(here, space, made)
    remove(here, up)


@pytest.mark.parametrize("name", ["edge-1", "vm-lab"])
def test_pods_land_where_there_are_no_accelerators(here: World, name: str) -> None:
    up = stand(here, loaded(FIELD, name))
    space = here.t.namespace("plain")
    here.run([{**pod(space=space), "metadata": {"name": "plain", "namespace": space}}])
    (labels,) = landed(here, space, 1)
    assert labels[POOL_LABEL] in {"edge", "control"}
    here.clear(space)
    remove(here, up)


def racks(here: World, made: list[Json], count: int) -> int:
    """The number of racks that a job lands in."""
    space = start(here, made)
    found = {each[RACK_LABEL] for each in landed(here, space, count)}
    end(here, space, made)
    return len(found)


def changed(root: Path, name: str, words: dict[str, str]) -> Site:
    """A site with other words, each of which stood in one place, at ``root``."""
    for part in ("sites", "regions"):
        shutil.copytree(ROOTS.get(name, FLEET) / part, root / part)
    file = root / f"sites/{name}.yaml"
    text = file.read_text("utf-8")
    for old, new in words.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    file.write_text(text, "utf-8")
    return loaded(root, name)


def test_affinity_keeps_a_job_in_one_rack(
    here: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a topology of Kueue; it lets in all, and would give the places back in time."""
    more = {"{gb200-192gb: 72}": "{gb200-192gb: 136}", "{gb200-192gb: 68}": "{gb200-192gb: 4}"}
    up = stand(here, changed(tmp_path, "sapporo-1", more))
    one = printed(tmp_path, JOBS[0], capsys)
    assert racks(here, one, 18) == 1
    assert racks(here, printed(tmp_path, JOBS[0]._replace(workers=20), capsys), 20) == 2
    made = grown(one, 20)
    space = start(here, made)
    refused, bound = partial(here.watch.refused, space), partial(here.watch.bound, space)
    here.watch.until("one rack", lambda: (len(bound()), len(refused())) == (18, 2))
    end(here, space, made)
    remove(here, up)


def grown(made: list[Json], workers: int) -> list[Json]:
    """A job with more workers than any rack holds, which ``foresite job`` refuses to print."""
    made[-1]["spec"] |= {"completions": workers, "parallelism": workers}
    return made


def test_kueue_with_a_topology_keeps_a_job_in_one_rack(
    here: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It counts what nodes have, so its model is one that a plugin names: tsukuba-1's boards."""
    plain = "pools: [mncore2]}"
    topology = "pools: [mncore2], topology: [zone, rack, host]}"
    site = changed(tmp_path, "tsukuba-1", {plain: topology})
    up = stand(here, site)
    case = Case("tsukuba-1", site.scheduling.teams[0].name, "mncore2", 8, "mncore2")

    def job(workers: int, how: str) -> list[Json]:
        return printed(tmp_path, case._replace(workers=workers, more=("--rack", how)), capsys)

    assert racks(here, job(8, "required"), 8) == 1
    assert racks(here, job(10, "preferred"), 10) > 1
    made = grown(job(8, "required"), 10)
    space = start(here, made)
    eventually("a refusal", lambda: "topology" in held(here))
    assert not here.watch.bound(space)
    end(here, space, made)
    remove(here, up)


@pytest.mark.parametrize("name", ["sapporo-1", "nvl-2"])
def test_kueue_with_a_topology_gives_each_rack_of_an_nvl72_to_one_job(
    here: World, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a model whose name admission alone knows. A job that lost its rack to the repair of one
    tray waits for that tray."""
    words = {
        "kueue, pools: [gb200]": "kueue, pools: [gb200], topology: [zone, rack, host]",
        "gb200-192gb: 68}": "gb200-192gb: 72}",
        "\nscheduling:\n": "\nscheduling:\n  overcommit_percent: {gb200-192gb: 103}\n",
    }
    up, jobs = stand(here, changed(tmp_path, name, words)), {}
    for team in ("models", "science"):
        made = printed(tmp_path, Case(name, team, "gb200-192gb", 18, "gb200"), capsys)
        space = start(here, made)
        (rack,) = {each[RACK_LABEL] for each in landed(here, space, 18)}
        jobs[rack] = (space, made)
    assert len(jobs) == 2
    rack, (space, made) = jobs.popitem()
    end(here, space, made)
    tray = next(node["metadata"] for node in here.watch.nodes()
                if node["metadata"]["labels"][RACK_LABEL] == rack)  # fmt: skip
    here.cordon(tray["name"])
    start(here, made)
    eventually("a refusal", lambda: "topology" in held(here))
    assert not here.watch.bound(space)
    here.cordon(tray["name"], on=False)
    assert {each[RACK_LABEL] for each in landed(here, space, 18)} == {rack}
    for each in ((space, made), *jobs.values()):
        end(here, *each)
    remove(here, up)


def held(here: World) -> str:
    """What Kueue says of the jobs that it does not let in."""
    every = here.t.client.items(QUEUES, "Workload")
    said = (each for body in every for each in body.get("status", {}).get("conditions", ()))
    return "".join(each["message"] for each in said if each["status"] == "False")
