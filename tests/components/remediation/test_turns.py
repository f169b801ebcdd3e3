"""Which nodes get a turn, and in which order: rounds on a real API server."""

import pytest

from components.making.faults import FAULTY_TAINT, QUARANTINED_TAINT, RESET_LABEL, TURN_LABEL
from components.making.manifest import Json
from components.remediation.turns import configuration
from tests.kit.remediation_rounds import BAD, GOOD, MISSING, UNKNOWN, ago, held, lines, one_round
from tests.kit.remediation_server import SPACE, Server
from tests.kit.repository import all_sites

pytestmark = [pytest.mark.controlplane, pytest.mark.proof]


def given(server: Server, node: str) -> Json:
    """A node without what changes at each write."""
    found = server.get(node)
    found["metadata"].pop("managedFields", None)
    return found


def test_those_go_first_whose_drain_disturbs_least(server: Server) -> None:
    for name in ("busy", "high", "idle-b", "idle-a", "two", "one"):
        server.node(name, "a", BAD)
    daemon = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u"}
    server.pod("daemon", "idle-a", "high", ownerReferences=[daemon])
    server.pod("static", "idle-b", "high", annotations={"kubernetes.io/config.mirror": "x"})
    server.pod("one", "one")
    for number in range(2):
        server.pod(f"two-{number}", "two")
    for number in range(3):
        server.pod(f"busy-{number}", "busy")
    server.pod("high", "high", "high")
    expected = ["idle-a", "idle-b", "one", "two", "busy", "high"]
    for count in range(1, len(expected) + 1):
        one_round(server, lines({"a": count}))
        assert set(server.turns()) == set(expected[:count])


def test_more_nodes_than_are_asked_one_by_one(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And more than one page of them; a ConfigMap of somebody else is none that tells of a pool."""
    monkeypatch.setattr("node_repair.cluster.PAGE", 5)
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "o", "namespace": SPACE}}
    server.client.apply(other)
    names = [f"n{number:02}" for number in range(12)]
    for name in names:
        server.node(name, "a", BAD)
        if name != "n07":
            server.pod(f"on-{name}", name)
    one_round(server, lines({"a": 1}))
    assert set(server.turns()) == {"n07"}
    assert server.client.get("v1", "ConfigMap", "o", SPACE)


def test_pods_that_have_ended_are_nobodys_work(server: Server) -> None:
    for name in ("a", "b"):
        server.node(name, "a", BAD)
        server.pod(f"on-{name}", name)
    path = f"/api/v1/namespaces/{SPACE}/pods/on-b/status"
    ended = {"status": {"phase": "Succeeded"}}
    server.client.request("PATCH", path, ended, "application/merge-patch+json")
    one_round(server, lines({"a": 1}))
    assert set(server.turns()) == {"b"}


def test_pools_do_not_disturb_each_other(server: Server) -> None:
    for pool in ("a", "b", "other"):
        for number in range(3):
            server.node(f"{pool}{number}", pool, BAD)
    one_round(server, lines({"a": 1, "b": 2}))
    assert server.turns() == dict.fromkeys(("a0", "b0", "b1"), MISSING)
    assert all(server.taints(f"{pool}{n}") for pool in "ab" for n in range(3))
    assert not any(server.taints(f"other{number}") for number in range(3))


def test_more_faults_than_a_hosts_are_held_and_told(server: Server) -> None:
    text = lines({"a": 3, "b": 1}, percent=60)
    for number in range(5):
        server.node(f"a{number}", "a", BAD if number < 3 else GOOD)
        server.node(f"b{number}", "b", BAD if number < 4 else GOOD)
    one_round(server, text)
    # Three of five are not more than 60 %, and four of five are.
    assert set(server.turns()) == {"a0", "a1", "a2"}
    assert not any(server.taints(f"b{number}") for number in range(5))
    assert held(server) == {
        "turns-held-b": "4 of 5 nodes of pool b have a fault: no repair is begun"
    }
    server.condition("a3", **BAD)
    one_round(server, text)
    # What has begun goes on.
    assert set(server.turns()) == {"a0", "a1", "a2"} and not server.taints("a3")
    assert set(held(server)) == {"turns-held-a", "turns-held-b"}
    server.condition("b3", **GOOD)
    one_round(server, text)
    assert set(held(server)) == {"turns-held-a"} and "b0" in server.turns()


def test_two_faulty_nodes_are_always_hosts(server: Server) -> None:
    """In a small pool one that is quarantined keeps no second one in use."""
    for name, state in (("broken", GOOD), ("next", BAD), ("third", GOOD)):
        server.node(name, "a", state)
    server.condition("broken", **BAD)
    server.annotate("broken", reboots=f"{ago(20)},{ago(10)}")
    text = lines({"a": 1}, percent=1)
    one_round(server, text)
    assert QUARANTINED_TAINT in server.taints("broken")
    assert server.turns() == {"next": MISSING} and not held(server)
    assert server.taints("next") == {FAULTY_TAINT: MISSING}
    # That nothing is known of it any more does not let it in.
    server.condition("broken", **UNKNOWN)
    server.condition("third", **BAD)
    one_round(server, text)
    assert not server.taints("third") and set(held(server)) == {"turns-held-a"}


def test_unknown_changes_nothing(server: Server) -> None:
    taint = {"key": FAULTY_TAINT, "value": MISSING, "effect": "NoSchedule"}
    server.node("new", "a", UNKNOWN)
    server.node("tainted", "a", UNKNOWN, taints=[taint])
    server.node("at-it", "a", UNKNOWN, taints=[taint], labels={TURN_LABEL: MISSING})
    server.annotate("at-it", turns=str(ago(5)))
    before = [given(server, name) for name in ("new", "tainted", "at-it")]
    assert one_round(server, lines({"a": 5})) == ""
    assert [given(server, name) for name in ("new", "tainted", "at-it")] == before


@pytest.mark.parametrize(
    ("why", "spec"),
    [
        ("cordoned", {"unschedulable": True}),
        ("quarantined", {"taints": [{"key": QUARANTINED_TAINT, "effect": "NoSchedule"}]}),
    ],
)
def test_whom_others_keep_out_gets_no_turn(server: Server, why: str, spec: Json) -> None:
    server.node("out", "a", BAD, **spec)
    server.node("begun", "a", BAD, labels={TURN_LABEL: MISSING}, **spec)
    one_round(server, lines({"a": 5}))
    assert not server.turns()
    assert all(FAULTY_TAINT in server.taints(name) for name in ("out", "begun"))


def test_a_reboot_goes_on_when_the_node_is_cordoned(server: Server) -> None:
    server.node("n", "a", BAD, labels={TURN_LABEL: MISSING}, unschedulable=True)
    server.annotate("n", reboot=f"job,boot-0,{ago(5)},asked")
    one_round(server, lines({"a": 1}))
    assert server.turns() == {"n": MISSING}


def test_a_cordoned_node_loses_its_turn_during_a_reset(server: Server) -> None:
    labels = {TURN_LABEL: MISSING, RESET_LABEL: "true"}
    server.node("n", "a", BAD, labels=labels, unschedulable=True)
    server.operation("n", "Failed", "r")
    server.annotate("n", reboot=f"job,boot-0,{ago(5)},resetting")
    one_round(server, lines({"a": 1}))
    assert not server.turns() and RESET_LABEL not in server.get("n")["metadata"]["labels"]
    assert not server.note("n", "quarantined")


def test_the_label_of_a_reset_does_not_outlive_the_turn(server: Server) -> None:
    server.node("n", "a", GOOD, labels={RESET_LABEL: "true"})
    server.node("m", "a", BAD, labels={TURN_LABEL: MISSING, RESET_LABEL: "true"})
    one_round(server, lines({"a": 1}))
    assert RESET_LABEL not in server.get("n")["metadata"]["labels"]
    assert RESET_LABEL in server.get("m")["metadata"]["labels"]


@pytest.mark.parametrize("ready", ["False", "Unknown"])
def test_a_node_that_does_not_answer_gets_no_turn(server: Server, ready: str) -> None:
    server.node("dead", "a", {**BAD, "Ready": ready})
    one_round(server, lines({"a": 1}))
    assert not server.turns() and server.taints("dead") == {FAULTY_TAINT: MISSING}


def test_a_turn_is_not_given_while_an_earlier_one_is_taken_down(server: Server) -> None:
    server.node("n", "a", BAD)
    server.operation("n", "Failed", "r")
    one_round(server, lines({"a": 1}))
    assert not server.turns() and not server.note("n", "quarantined")
    server.end_operations()
    # Operations of a person: one that has ended stays as long as they like.
    server.operation("n", "Completed")
    one_round(server, lines({"a": 1}))
    assert server.turns() == {"n": MISSING}


def test_taints_of_others_stay(server: Server) -> None:
    """Two of one key, and the time of one that ends pods, are as they were."""
    others = [
        {"key": "node.kubernetes.io/unreachable", "effect": effect, "timeAdded": time}
        for effect, time in (("NoSchedule", None), ("NoExecute", "2026-01-02T03:04:05Z"))
    ]
    others[0].pop("timeAdded")
    others.append({"key": "example.com/team", "value": "x", "effect": "NoSchedule"})
    server.node("n", "a", BAD, taints=others)

    def kept() -> bool:
        now = server.get("n")["spec"]["taints"]
        return all(each in now for each in others)

    one_round(server, lines({"a": 1}))
    assert kept() and FAULTY_TAINT in server.taints("n")
    server.condition("n", **GOOD)
    one_round(server, lines({"a": 1}))
    assert kept() and not server.taints("n")


def test_odd_names_and_notes(server: Server) -> None:
    """Values that others write may hold whatever ends a line or a word."""
    name = "0.node-1.with.dots.example"
    server.node(name, "a_B.c", {**BAD, 'x "y\tz\n': "True"}, annotations={"a/b": 'x\t"y\n$(z)'})
    server.annotate(name, reboots='"x",\n', reboot="\t,\n", quarantined='"\\')
    one_round(server, lines({"a_B.c": 1}))
    one_round(server, lines({"a_B.c": 1}))
    assert server.turns() == {name: MISSING}


def test_the_sites_own_lines_are_understood(server: Server) -> None:
    """The first fault of each pool of a site that has a healer leads to a turn."""
    site = all_sites()["tokyo-1"]
    faults = {"cpu": ("ReadonlyFilesystem", "read-only-filesystem")}
    expected = {}
    # No repair begins while the control plane is not whole.
    for number in (2, 3):
        server.node(f"control-{number}", "control", {})
    for pool in ("v100", "a100", "h100", "cpu", "control"):
        kind, fault = faults.get(pool, ("AcceleratorMissing", MISSING))
        server.node(f"{pool}-1", pool, {kind: "True"})
        if pool != "control":
            expected[f"{pool}-1"] = fault
    one_round(server, configuration(site))
    assert server.turns() == expected
