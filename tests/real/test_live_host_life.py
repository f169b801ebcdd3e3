"""Lives of hosts on the real controllers (tests/real/live/host_life.py): only the machines change
that a merge is about. One run, in about five minutes on two cores."""

from typing import Any

import pytest

from tests.real.live.host_life import OUT, SPARES
from tests.real.live.run import observe_metal3

pytestmark = [pytest.mark.capi, pytest.mark.proof]
Json = dict[str, Any]
NEW_RACK = {"rack-a-05", "rack-a-06"}
OLD_RACK = {"rack-a-03", "rack-a-04"}
AGAIN = {"board-a-02", "mover-a-01", "rma-a-01"}
"""Hosts that are installed again with the second merge."""


@pytest.fixture(scope="module")
def seen() -> Json:
    """What was seen before the merges, and after each; skipped where it cannot be had."""
    found: Json = observe_metal3("tests.real.live.host_life")
    return found


def stock(seen: Json) -> tuple[str, str]:
    """Of the pool with a spare, the host that went out, and the one that was free."""
    names = {name for name in seen["before"]["hosts"] if name.startswith("stock")}
    (free,) = names - seen["before"]["machines"].keys()
    return min(names - {free}), free


def kept(seen: Json, later: str) -> set[str]:
    """Hosts with the very machine that they had before."""
    before, now = seen["before"]["machines"], seen[later]["machines"]
    return {name for name, uid in before.items() if now.get(name) == uid}


def test_the_machines_of_hosts_that_go_out_go_and_no_others(seen: Json) -> None:
    out, free = stock(seen)
    first, before = seen["first"], seen["before"]["machines"].keys()
    assert seen["refused"] == {"first": {}, "second": {}}
    assert kept(seen, "first") == before - OUT - {out}
    # The spare steps in, the new rack is installed, and what is out stays registered.
    assert first["machines"].keys() == (before - OUT - {out}) | NEW_RACK | {free}
    assert {first["states"][name] for name in {*OUT, out}} == {"available"}
    assert seen["before"]["hosts"].items() <= first["hosts"].items()


def test_they_come_back_with_other_boards_and_no_other_machine_changes(seen: Json) -> None:
    out, free = stock(seen)
    second, before = seen["second"], seen["before"]["machines"].keys()
    stayed = (before - OUT - {out}) | NEW_RACK | {free}
    first = seen["first"]["machines"]
    assert {name: second["machines"][name] for name in stayed} == {n: first[n] for n in stayed}
    # The pool with a spare has its number; of the others each host that is back has a new machine.
    assert second["machines"].keys() == stayed | AGAIN
    assert second["states"][out] == "available" and SPARES["stock"] == 1
    # A host that was out is another object; of the rack that went none is left.
    hosts, former = second["hosts"], seen["before"]["hosts"]
    assert hosts.keys() == (former.keys() | NEW_RACK) - OLD_RACK
    assert {name for name in hosts if hosts[name] != former.get(name)} == AGAIN | NEW_RACK | {out}
    assert [second["macs"][n][-5:] for n in ("board-a-02", out, "rma-a-01")] == [
        "ff:01", "ff:02", "ff:03"
    ]  # fmt: skip
