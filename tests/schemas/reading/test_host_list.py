"""The host list: what it gives, what it refuses and where, for any text at all."""

import re
import string
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.model.codes import Code
from schemas.model.problem import number_of
from schemas.reading.host_list import COLUMNS, MAX_HOSTS, Host, HostList, cell_column, read_hosts
from schemas.reading.table_text import MAX_BYTES
from tests.kit.repository import FLEET

HEADER = ",".join(COLUMNS)
GOOD = Host(
    "nara-1-a-001", "v100", "a", "a-01", "10.56.0.11", "52:54:00:12:00:01", "10.48.0.11", "EX1", 2
)
LISTS = sorted((FLEET / "sites").glob("*.hosts.csv"), key=lambda path: path.name)
_modest = settings(max_examples=60, database=None, suppress_health_check=[HealthCheck.too_slow])


def read(text: str | bytes) -> HostList:
    return read_hosts(text.encode() if isinstance(text, str) else text, "h.csv")


def table(*lines: str) -> str:
    return "\n".join([HEADER, *lines, ""])


def cells(host: Host, **others: str) -> list[str]:
    """The cells of a host's line, some of them others."""
    return [others.get(name, str(cell)) for name, cell in host._asdict().items() if name in COLUMNS]


def words(middle: str, most: int) -> st.SearchStrategy[str]:
    """Texts that start and end with a letter or digit."""
    ends = st.text("abc019", min_size=1, max_size=2)
    return st.builds("".join, st.tuples(ends, st.text("abc019" + middle, max_size=most), ends))


labels = words("-", 20)
addresses = st.ip_addresses(v=4).map(str)
macs = st.integers(1, 2**48 - 1).map(
    lambda n: f"{n & ~(1 << 40):012x}"  # one card's, not a group's
).filter(lambda text: text != "0" * 12).map(lambda t: ":".join(re.findall("..", t)))  # fmt: skip
hosts = st.builds(
    Host,
    name=labels,
    pool=labels,
    zone=labels,
    rack=words("-_.AZ", 20),
    bmc=addresses,
    mac=macs,
    ip=addresses,
    serial=words("-_.AZ", 20),
    line=st.just(0),
    root_disk=st.just(""),
    state=st.just(""),
    more=st.just(()),
)


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.name)
def test_the_lists_of_the_repository_are_whole(path: Path) -> None:
    found = read(path.read_bytes())
    assert found.problems == []
    assert found.complete
    assert [host.line for host in found.hosts] == list(range(2, len(found.hosts) + 2))


@_modest
@given(
    st.lists(hosts, max_size=3),
    st.permutations(list(COLUMNS)),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_what_is_written_is_read_in_any_order_of_columns(
    wanted: list[Host], header: list[str], newline: str, ended: bool
) -> None:
    lines = [header, *([getattr(host, name) for name in header] for host in wanted)]
    text = newline.join(",".join(line) for line in lines) + newline * ended
    found = read(text)
    assert found.problems == []
    assert [host._replace(line=0) for host in found.hosts] == wanted


@_modest
@given(st.one_of(st.binary(max_size=300), st.text(max_size=300).map(lambda t: t.encode())))
def test_no_bytes_are_an_exception(data: bytes) -> None:
    for content in (data, (HEADER + "\n").encode() + data):
        check_places(read(content), content)


@_modest
@given(st.lists(st.text(alphabet=string.printable + "é\u202e\ufeff\x00", max_size=12), max_size=24))
def test_no_cells_are_an_exception(parts: list[str]) -> None:
    text = table(",".join(parts), ",".join(parts[:8]), *parts)
    check_places(read(text), text.encode())


def check_places(found: HostList, data: bytes) -> None:
    """Problems and hosts are where the file has something, and the words can be shown."""
    lines = data.decode("utf-8", "replace").split("\n")
    for problem in found.problems:
        assert 1 <= problem.line <= len(lines)
        assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1
        for text in (problem.message, problem.fix, problem.value, problem.path):
            assert text.isprintable()
        assert problem.message
        assert problem.fix
    for host in found.hosts:
        assert lines[host.line - 1].count(",") == len(COLUMNS) - 1


@_modest
@given(hosts, st.sampled_from(list(COLUMNS)), st.text(max_size=20))
def test_a_wrong_cell_is_one_problem_at_its_place(host: Host, column: str, wrong: str) -> None:
    pattern = COLUMNS[column].pattern
    if re.fullmatch(pattern, wrong) or set(wrong) & set(",\n\r\0"):
        return
    line = ",".join(cells(host, **{column: wrong}))
    (problem,) = read(table(line)).problems
    if line.startswith("#"):
        return
    assert (problem.code, problem.line) == (Code("hosts-cell"), 2)
    assert (problem.path, problem.column) == (column, cell_column(line, list(COLUMNS), column))


def _spoil(column: str, cell: str) -> list[str]:
    """Ways that people and spreadsheets write a good cell badly."""
    ways = [f" {cell}", f"{cell} ", f'"{cell}"', f"'{cell}'", f"\u200b{cell}", f"\u00a0{cell}"]
    if column in ("bmc", "ip"):
        padded = ".".join(f"{int(part):03}" for part in cell.split("."))
        ways += [f"{cell}/24", f"{cell}:443", f"https://{cell}/redfish", padded]
    if column == "mac":
        plain = cell.replace(":", "")
        ways += [cell.upper(), cell.replace(":", "-"), plain, plain.upper()]
        ways += [".".join(re.findall("....", plain))]
    if column in ("name", "pool", "zone"):
        ways += [cell.upper(), cell.replace("-", "_")]
    return ways


@_modest
@given(hosts, st.sampled_from(list(COLUMNS)))
def test_a_cell_that_was_meant_well_is_named_in_the_fix(host: Host, column: str) -> None:
    right = getattr(host, column)
    for wrong in _spoil(column, right):
        line = ",".join(cells(host, **{column: wrong}))
        problems = read(table(line)).problems
        assert [problem.fix for problem in problems] in ([], [f"write {right}"]), wrong
        for problem in problems:
            mended = {column: problem.fix.removeprefix("write ")}
            assert read(table(",".join(cells(host, **mended)))).problems == []


def test_a_wrong_cell_leaves_the_rest_of_its_host() -> None:
    line = ",".join(cells(GOOD, mac="52:54:00:12:00:1"))
    found = read(table(line))
    assert found.hosts == [GOOD._replace(mac="")]
    assert found.complete


@pytest.mark.parametrize("column", ["pool", "zone"])
def test_hosts_cannot_be_counted_where_a_pool_or_zone_is_not_known(column: str) -> None:
    assert not read(table(",".join(cells(GOOD, **{column: "!"})))).complete


def test_hosts_cannot_be_counted_where_a_line_cannot_be_read() -> None:
    found = read(table(",".join(cells(GOOD)), ",".join(cells(GOOD)[1:])))
    assert found.hosts == [GOOD]
    assert not found.complete


def test_a_list_without_columns_gives_no_host() -> None:
    found = read(table(",".join(cells(GOOD))).replace("serial", "number", 1))
    assert found.hosts == []
    assert not found.complete


UUIDS = ("6f2c1d4e-8a3b-4c5d-9e0f-1a2b3c4d5e6f", "6f2c1d4e8a3b4c5d9e0f1a2b3c4d5e6f")


@pytest.mark.parametrize("name", UUIDS)
def test_a_uuid_is_no_name(name: str) -> None:
    (problem,) = read(table(",".join(cells(GOOD, name=name)))).problems
    assert "UUID" in problem.message
    longer = GOOD._replace(name=f"h{name}"[:40])
    assert read(table(",".join(cells(longer)))).problems == []


def test_a_name_may_start_as_a_uuid_does() -> None:
    assert read(table(",".join(cells(GOOD, name=f"{UUIDS[0]}-x")))).problems == []


@pytest.mark.parametrize("mac", ["01:00:5e:00:00:01", "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00"])
def test_an_address_of_a_group_is_no_network_card(mac: str) -> None:
    (problem,) = read(table(",".join(cells(GOOD, mac=mac)))).problems
    assert problem.code is Code("hosts-cell")
    assert "group" in problem.message


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        (HEADER.replace("serial", "serials"), [(32, "write serial")]),
        (HEADER.replace("mac", "MAC"), [(25, "write mac")]),
        (HEADER.replace("zone,rack", " zone,rack "), [(11, "write zone"), (17, "write rack")]),
        (HEADER + ",", [(39, "remove it, here and in each line")]),
        (HEADER + ",mac", [(39, "remove it, here and in each line")]),
    ],
)
def test_a_header_is_told_what_to_write(header: str, columns: list[tuple[int, str]]) -> None:
    problems = read(header + "\n").problems
    assert [(problem.column, problem.fix) for problem in problems] == columns
    assert {problem.code for problem in problems} == {Code("hosts-columns")}


@pytest.mark.parametrize("cell", ["name,", "mac_a,"])
def test_a_header_without_end_is_one_problem(cell: str) -> None:
    (problem,) = read(f"name,{cell * 500_000}").problems
    assert problem.code is Code("hosts-columns")


def test_a_list_is_bounded() -> None:
    (lines,) = read(HEADER + "\nx" * (MAX_HOSTS + 1)).problems
    assert (lines.code, lines.line) == (Code("hosts-text"), MAX_HOSTS + 2)
    (size,) = read(b"x" * (MAX_BYTES + 1)).problems
    assert size.code is Code("hosts-text")
    assert number_of(read(HEADER + "\n" * (MAX_HOSTS + 1)).problems) == MAX_HOSTS
