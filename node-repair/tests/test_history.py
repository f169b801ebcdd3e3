"""The history of a host: bounded, and odd parts of it stop no repair."""

from hypothesis import given
from hypothesis import strategies as st
from node_repair import metrics
from node_repair.history import MOST, SECONDS, Repair, add, counts, read, take_back
from node_repair.names import HISTORY
from node_repair.state import Node
from prometheus_client import REGISTRY

NOW = 1_800_000_000
names = st.text(max_size=80)
repairs = st.builds(Repair, st.integers(NOW - 2 * SECONDS, NOW), names, names, names, names)


@given(st.text(max_size=200), st.lists(repairs, max_size=2 * MOST), names)
def test_any_note_can_be_added_to(note: str, found: list[Repair], serial: str) -> None:
    for each in found:
        note = add(note, serial, each, NOW)
    kept = read(note, NOW)[1]
    assert len(kept) <= MOST and all(NOW - SECONDS < each.when <= NOW + 600 for each in kept)
    mine = Repair(NOW, "reboot", "f", "0000:3b:00", "mine")
    once = add(note, "", mine, NOW)
    assert add(once, "", mine, NOW) == once and read(once, NOW)[1][-1] == mine
    assert len(once) < 64 + MOST * (4 * 80 + 20)


def test_what_was_taken_back_does_not_count() -> None:
    first, second = Repair(NOW - 9, "reset", "f"), Repair(NOW, "reboot", "f", "0000:3b:00", "b")
    note = add(add("", "SN1", first, NOW), "", second, NOW)
    assert counts(read(note, NOW)[1]) == {"": 2, "0000:3b:00": 1}
    assert take_back(note, "b", NOW) == add("", "SN1", first, NOW)
    assert take_back(note, "another", NOW) == note
    assert take_back(add("", "SN1", second, NOW), "b", NOW) is None
    # Of a clock that was ahead, and after 90 days.
    assert read(note, NOW - 86_400)[1] == read(note, NOW + SECONDS)[1] == ()


def test_an_operation_is_one_repair() -> None:
    """Its reboot comes after a reset that did not help; the device is known before that alone."""
    reset = Repair(NOW - 300, "reset", "f", "0000:3b:00", "a")
    reboot = Repair(NOW, "reboot", "f", "", "a")
    note = add(add("", "SN1", reset, NOW), "SN1", reboot, NOW)
    assert read(note, NOW)[1] == (Repair(NOW, "reset-reboot", "f", "0000:3b:00", "a"),)
    assert add(note, "SN1", reboot, NOW) == note
    (left,) = read(take_back(note, "a", NOW) or "", NOW)[1]
    assert left.how == "reset"


def test_another_machine_begins_without_repairs() -> None:
    first, second = Repair(NOW - 9, "reboot", "f", "", "a"), Repair(NOW, "reboot", "f", "", "b")
    note = add("", "SN1", first, NOW)
    assert read(add(note, "SN2", second, NOW), NOW) == ("SN2", (second,))
    for known in (add(note, "", second, NOW), add(note, "SN 1;", second, NOW)):
        assert read(known, NOW) == ("SN1", (first, second))
    unknown = add("", "", first, NOW)
    assert read(add(unknown, "SN2", second, NOW), NOW) == ("SN2", (first, second))


def test_the_device_is_that_of_the_fault_under_repair() -> None:
    told = [
        ("NetworkLinkDown", "True", "0000:18:00.0 is down"),
        ("AcceleratorError", "True", "XID 119 of 0000:3B:00.0: reset"),
        ("AcceleratorMissing", "False", "0000:5e:00 was gone"),
    ]
    conditions = [dict(zip(("type", "status", "message"), each, strict=True)) for each in told]
    node = Node.of({"metadata": {"name": "n"}, "status": {"conditions": conditions}})
    assert node.device("AcceleratorError") == "0000:3b:00"
    assert {node.device(each) for each in ("AcceleratorMissing", "KernelDeadlock", "")} == {""}


def test_a_nodes_own_note_makes_few_series() -> None:
    entries = [f"{NOW - 1},reboot,f,=d{n // 2}\n{'x' * 100},o{n}" for n in range(4000)]
    note = ";".join(('S"N\n1' + "x" * 999, *entries))
    metrics.show_history([Node(name="n", notes={HISTORY: note})], NOW)
    (family,) = (each for each in REGISTRY.collect() if each.name == "node_repair_history")
    assert 1 < len(family.samples) <= MOST
    for sample in family.samples:
        assert all(len(each) <= 64 and each.isprintable() for each in sample.labels.values())
        assert not set('"=') & set("".join(sample.labels.values()))
