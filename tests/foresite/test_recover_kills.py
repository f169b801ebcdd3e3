"""``foresite recover`` on the real engine and the real API server: after kills at random points, a
state that was damaged, an etcd that was lost, and a change that was taken back halfway."""

import multiprocessing
import shutil
from collections.abc import Iterator
from itertools import chain

import pytest

from components.making.manifest import FIELD_MANAGER
from schemas.facts.site import Site
from tests.kit.kills.judge import judge
from tests.kit.kills.plan import FIRST, Outcome, Plan
from tests.kit.kills.play import play_seeds
from tests.kit.kills.world import World, wait
from tests.kit.proof_shares import SHARES
from tests.kit.trial import manifests_of

pytestmark = pytest.mark.pulumi

SEEDS = range(50)
"""Seeds of a landing follow each other, so that two landings meet all four cases."""
SITE = "oita-1"


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> dict[int, Outcome]:
    """The seeds of this run, on as many servers as there are cores here at least."""
    here = (each for each in request.session.items if each.path == request.path)
    due = (each for each in here if not each.get_closest_marker("skip"))
    seeds = [each.callspec.params["seed"] for each in due if hasattr(each, "callspec")]
    if not seeds:
        pytest.skip("no seed is due")
    shares = [seeds[start::2] for start in range(2)]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        return {each.seed: each for each in chain.from_iterable(pool.map(play_seeds, shares, 1))}


@pytest.mark.parametrize(
    "seed",
    [pytest.param(each, marks=pytest.mark.proof(each * SHARES // len(SEEDS))) for each in SEEDS],
)
def test_after_a_kill_recover_and_up_bring_the_site_back(
    outcomes: dict[int, Outcome], seed: int
) -> None:
    assert outcomes[seed].wrong == []


def test_runs_were_killed_amid_their_work(outcomes: dict[int, Outcome]) -> None:
    """A run that is over first is no proof of anything; a busy machine may lose a race."""
    assert sum(each.hits > 0 for each in outcomes.values()) >= len(outcomes) * 3 // 5
    late = {seed for seed in outcomes if Plan.of(seed).writes}
    assert not late or any(outcomes[seed].written for seed in late)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    world = World(tmp_path_factory.mktemp("recover"))
    try:
        yield world
    finally:
        world.close()


@pytest.fixture
def applied(server: World, monkeypatch: pytest.MonkeyPatch) -> tuple[World, Site]:
    """A site that is applied, with nothing left to do."""
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    site = server.write(SITE, FIRST, changed=False)
    code, said = wait(server.command("up", "--trial", SITE))
    assert code == 0, said
    return server, site


def kinds(site: Site) -> set[tuple[str, str]]:
    return {each.key[:2] for each in manifests_of(site)}


def passed(world: World, *arguments: str) -> str:
    code, said = wait(world.command(*arguments))
    assert code == 0, said
    return said


@pytest.mark.proof
def test_a_field_that_a_killed_run_set_and_git_took_back_goes(applied: tuple[World, Site]) -> None:
    """After a damaged state was put back, too: both lose what the killed run did."""
    world, site = applied
    path = f"/api/v1/namespaces/{SITE}?fieldManager={FIELD_MANAGER}&force=true"
    (namespace,) = (
        each.body for each in manifests_of(site) if each.kind == "Namespace" and each.key[3] == SITE
    )
    labels = {**namespace["metadata"]["labels"], "example.com/half": "done"}
    body = {**namespace, "metadata": {**namespace["metadata"], "labels": labels}}
    world.client.request("PATCH", path, body, "application/apply-patch+yaml")
    (state,) = (world.folder / "pulumi" / ".pulumi" / "stacks").rglob(f"{SITE}.json")
    state.write_text(state.read_text()[:3000])

    code, said = wait(world.command("recover", "--trial", SITE))
    assert code == 1 and "Traceback" not in said
    (copy,) = (line.split()[1:] for line in said.splitlines() if line.strip().startswith("cp "))
    shutil.copy(*copy)
    said = passed(world, "recover", "--trial", SITE)
    assert f"update Namespace {SITE}" in said and "example.com/half" in said
    passed(world, "up", "--trial", SITE)
    assert "example.com/half" not in (world.client.get("v1", "Namespace", SITE) or {}).get(
        "metadata", {}
    ).get("labels", {})
    assert judge(world, site, kinds(site)) == []


@pytest.mark.proof
def test_a_site_whose_etcd_is_lost_is_made_anew_only_by_number(applied: tuple[World, Site]) -> None:
    world, site = applied
    engine = world.engine(site)
    before = engine.export_state()
    lose_etcd(world)
    code, said = wait(world.command("recover", "--trial", SITE))
    assert code == 2 and "--rebuild" in said and "Traceback" not in said
    assert engine.export_state() == before
    count = said.strip().rpartition("--rebuild ")[2]
    said = passed(world, "recover", "--trial", SITE, "--rebuild", count)
    assert f"next   create Cluster {SITE}/{SITE}" in said
    passed(world, "up", "--trial", SITE)
    assert judge(world, site, kinds(site)) == []


def lose_etcd(world: World) -> None:
    """The same server, with nothing in it but its kinds."""
    world.client.close()
    world.plane.stop()
    shutil.rmtree(world.folder / "etcd")
    world.plane = world.start()
    world.client = world.plane.client()
