"""Effects of labels of nodes that change in place: DaemonSets and operators that select by them."""

import copy
from typing import Any

import pytest

from components.effects.rules import Rules, judge_object
from components.effects.vocabulary import Effect, Impact, Name, ObjectChange, Side, SiteChange
from components.machines.effects import RULES as MACHINE_RULES
from components.machines.fleet import side_of
from components.machines.objects import objects
from components.making.manifest import Json, Manifest, Target
from schemas.facts.site import Site
from tests.kit.effects_cases import Edits, body, fields, of, pools, with_pool
from tests.kit.network_device_sites import SHARED, site

RULES = Rules(MACHINE_RULES)
MINE: Name = ("machines", "MachineDeployment/v100")
AGENT: Name = ("test", "DaemonSet/agent")
MOST = 118
TEAM = "node-restriction.kubernetes.io/team"
RAILS = "node.cluster.x-k8s.io/rails"
POOL = "node.cluster.x-k8s.io/pool"
ANYWHERE = {"tolerations": [{"operator": "Exists"}]}
SPEC = ("spec", "template", "spec")
NOTHING: Edits = {}
OURS: Edits = {(*SPEC, "nodeSelector"): {TEAM: "a"}}
IMAGE: Edits = {(*SPEC, "containers", 0, "image"): "registry.example/a:2"}
TIER: Edits = {("metadata", "labels", "tier"): "y"}
ALL: Edits = {(*SPEC, "tolerations"): [{"operator": "Exists"}]}


def agent(selector: dict[str, str], edits: Edits = NOTHING) -> Json:
    """A DaemonSet that selects nodes by labels."""
    return body("DaemonSet", {(*SPEC, "nodeSelector"): selector, **edits})


def tokyo() -> Site:
    """tokyo-1 without anything but machines."""
    return site({}, teams=False)


def side(of_site: Site, others: dict[Name, Manifest]) -> Side:
    made = {("machines", each.name): each for each in objects(of_site)}
    return side_of(of_site, {**made, **others})


def change(
    before: Site, after: Site, others: tuple[dict[Name, Manifest], dict[Name, Manifest]]
) -> SiteChange:
    sides = side(before, others[0]), side(after, others[1])
    changes = {}
    for name in dict.fromkeys((*sides[0].objects, *sides[1].objects)):
        mine, theirs = (each.objects.get(name) for each in sides)
        if mine != theirs:
            found = tuple(fields(mine.body, theirs.body)) if mine and theirs else ()
            changes[name] = ObjectChange(name[0], mine, theirs, found)
    return SiteChange("tokyo-1", *sides, changes)


def relabelled(
    bodies: Json | tuple[Json, Json], before: Site | None = None, after: Site | None = None
) -> list[Effect]:
    """The effects of a label of v100 beside going to its nodes, with an object on both sides."""
    pair = bodies if isinstance(bodies, tuple) else (bodies, bodies)
    others = tuple({AGENT: Manifest(AGENT[1], each, Target.SITE)} for each in pair)
    sites = before or tokyo(), after or with_pool(tokyo(), "v100", labels={TEAM: "a"})
    found = change(*sites, (others[0], others[1]))
    effects = judge_object(RULES, found, found.changes[MINE])
    assert Impact.NONE in {each.impact for each in effects}
    assert {each.name for each in effects} == {MINE}
    return [each for each in effects if each.impact is not Impact.NONE]


def test_a_daemon_set_comes_to_hosts_with_the_label_and_leaves_those_without() -> None:
    without, labelled = tokyo(), with_pool(tokyo(), "v100", labels={TEAM: "a"})
    for sites in ((without, labelled), (labelled, without)):
        (effect,) = relabelled(agent({TEAM: "a"}), *sites)
        assert (effect.impact, effect.at_most) == (Impact.POD_RESTART, MOST)
        assert pools(labelled, effect) == "v100"
        assert effect.path == ("spec", "template", "metadata", "labels", TEAM)
        assert "DaemonSet impact/a" in effect.why and "all at once" in effect.why
        assert "may" not in effect.why


@pytest.mark.parametrize(
    "selector",
    [
        {},
        {POOL: "v100"},
        {TEAM: "b"},
        # It goes to another pool's hosts, and these are none of its.
        {TEAM: "a", POOL: "a100"},
        {"example.com/other": "a"},
    ],
)
def test_what_selects_the_same_hosts_stays(selector: dict[str, str]) -> None:
    assert relabelled(agent(selector)) == []


def test_a_label_of_others_beside_it_decides_on_some_hosts() -> None:
    (effect,) = relabelled(agent({TEAM: "a", "nvidia.com/gpu.present": "true"}))
    assert effect.impact is Impact.POD_RESTART
    assert "may come" in effect.why


def test_a_daemon_set_that_changes_itself_is_judged_there() -> None:
    assert relabelled((body("DaemonSet", OURS), body("DaemonSet", {**OURS, **IMAGE}))) == []
    changed = (body("DaemonSet", OURS), body("DaemonSet", {**OURS, **TIER}))
    assert [each.impact for each in relabelled(changed)] == [Impact.POD_RESTART]


def test_pods_of_others_do_not_move() -> None:
    """nodeSelector is asked for once, when a pod is placed (api core/v1, PodSpec)."""
    assert relabelled(body("Deployment", OURS)) == []


def test_an_operators_object_that_selects_by_it_is_unknown() -> None:
    driver = {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "NVIDIADriver",
        "metadata": {"name": "a"},
        "spec": {"nodeSelector": {TEAM: "a"}},
    }
    (effect,) = relabelled(driver)
    assert (effect.impact, effect.at_most) == (Impact.UNKNOWN, MOST)
    assert "NVIDIADriver a" in effect.why
    for selector in ({TEAM: "b"}, {POOL: "v100"}):
        assert relabelled({**driver, "spec": {"nodeSelector": selector}}) == []


def test_what_is_not_applied_moves_no_pod() -> None:
    before = tokyo()
    cluster = before.file.cluster.model_copy(update={"context": None})
    before = of(before, file=before.file.model_copy(update={"cluster": cluster}))
    after = with_pool(before, "v100", labels={TEAM: "a"})
    assert relabelled(agent({TEAM: "a"}), before, after) == []


def test_a_label_that_says_what_a_pool_has_moves_daemon_sets_too() -> None:
    before, after = site({}), site({"v100": SHARED})
    (effect,) = relabelled(agent({RAILS: "4"}), before, after)
    assert (effect.impact, pools(after, effect)) == (Impact.POD_RESTART, "v100")
    assert effect.path[-1] == RAILS


def test_daemon_sets_that_cluster_api_brings_move_too() -> None:
    text = "---\n" + str(
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": "net", "namespace": "kube-system"},
            "spec": {"template": {"spec": {"nodeSelector": {TEAM: "a"}, **ANYWHERE}}},
        }
    ).replace("True", "true")
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "net", "namespace": "tokyo-1"},
        "data": {"manifests.yaml": text},
    }
    brings = {
        "apiVersion": "addons.cluster.x-k8s.io/v1beta2",
        "kind": "ClusterResourceSet",
        "metadata": {"name": "net", "namespace": "tokyo-1"},
        "spec": {"resources": [{"kind": "ConfigMap", "name": "net"}]},
    }
    others: dict[Name, Manifest] = {
        ("net", f"{each['kind']}/net"): Manifest(f"{each['kind']}/net", each)
        for each in (config, brings)
    }
    before, after = tokyo(), with_pool(tokyo(), "v100", labels={TEAM: "a"})
    found = change(before, after, (others, others))
    effects = judge_object(RULES, found, found.changes[MINE])
    assert [each.impact for each in effects] == [Impact.NONE, Impact.POD_RESTART]
    assert "DaemonSet kube-system/net" in effects[1].why


def test_labels_of_a_control_plane_move_daemon_sets_too() -> None:
    before, after = tokyo(), with_pool(tokyo(), "control", labels={TEAM: "a"})
    every = Manifest(AGENT[1], agent({TEAM: "a"}, ALL), Target.SITE)
    others: dict[Name, Manifest] = {AGENT: every}
    found = change(before, after, (others, others))
    (name,) = [name for name in found.changes if name[1].startswith("KubeadmControlPlane")]
    none, effect = judge_object(RULES, found, found.changes[name])
    assert none.impact is Impact.NONE
    assert (effect.impact, pools(after, effect)) == (Impact.POD_RESTART, "control")


def test_labels_that_go_with_the_whole_map_are_each_looked_at() -> None:
    before, after = tokyo(), with_pool(tokyo(), "v100", labels={TEAM: "a"})
    others: dict[Name, Manifest] = {AGENT: Manifest(AGENT[1], agent({TEAM: "a"}), Target.SITE)}
    found = change(before, after, (others, others))
    at = ("spec", "template", "metadata", "labels")
    mine = found.changes[MINE]
    assert mine.before and mine.after
    values: list[Any] = []
    for each in (mine.before, mine.after):
        inner: Any = copy.deepcopy(each.body)
        for step in at:
            inner = inner[step]
        values.append(inner)
    field = mine.fields[0]._replace(path=at, before=values[0], after=values[1])
    effects = judge_object(RULES, found, mine._replace(fields=(field,)))
    assert [each.impact for each in effects] == [Impact.NONE, Impact.POD_RESTART]


def test_a_host_that_moves_to_another_pool_is_installed_again_with_that_pools_pods() -> None:
    """The DaemonSets of both pools stay as they are, so nothing is said of them: the move is."""
    before = tokyo()
    moved = before.by_pool["v100"][0]
    hosts = tuple(h._replace(pool="a100") if h is moved else h for h in before.hosts)
    others: dict[Name, Manifest] = {
        ("test", f"DaemonSet/{pool}"): Manifest(
            f"DaemonSet/{pool}", agent({POOL: pool}), Target.SITE
        )
        for pool in ("v100", "a100")
    }
    found = change(before, of(before, hosts=hosts), (others, others))
    effects = [e for change in found.changes.values() for e in judge_object(RULES, found, change)]
    mine = [each for each in effects if moved.name in each.hosts]
    worst = max(mine, key=lambda each: each.impact.rank)
    assert worst.impact.rank >= Impact.REIMAGE.rank
