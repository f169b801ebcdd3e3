"""The history of a host: bounded, and odd parts of it stop no repair."""

from hypothesis import given
from hypothesis import strategies as st
from node_repair.history import MOST, SECONDS, Repair, add, counts, read, take_back

NOW = 1_800_000_000
names = st.text(max_size=80)
repairs = st.builds(Repair, st.integers(NOW - 2 * SECONDS, NOW), names, names, names)


@given(st.text(max_size=200), st.lists(repairs, max_size=2 * MOST), names)
def test_any_note_can_be_added_to(note: str, found: list[Repair], serial: str) -> None:
    for each in found:
        note = add(note, serial, each, NOW)
    kept = read(note, NOW)[1]
    assert len(kept) <= MOST and all(NOW - SECONDS < each.when <= NOW + 600 for each in kept)
    mine = Repair(NOW, "reboot", "f", "0000:3b:00")
    once = add(note, "", mine, NOW)
    assert add(once, "", mine, NOW) == once and read(once, NOW)[1][-1] == mine
    assert len(once) < 64 + MOST * (4 * 80 + 20)


def test_what_was_taken_back_does_not_count() -> None:
    first, second = Repair(NOW - 9, "reset", "f"), Repair(NOW, "reboot", "f", "0000:3b:00")
    note = add(add("", "SN1", first, NOW), "", second, NOW)
    assert counts(read(note, NOW)[1]) == {"": 2, "0000:3b:00": 1}
    assert take_back(note, NOW) == add("", "SN1", first, NOW)
    assert take_back(add("", "SN1", second, NOW), NOW) is None
    # Of a clock that was ahead, and after 90 days.
    assert read(note, NOW - 86_400)[1] == read(note, NOW + SECONDS)[1] == ()
