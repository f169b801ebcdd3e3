"""A host list proposed from an inventory: what is added, what differs, and what is refused."""

import csv
import json
import shutil
import socket
import ssl
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from foresite.cli import main
from foresite.inventory import netbox
from foresite.inventory.proposal import Change, Proposal, as_csv
from foresite.inventory.records import Cell, Intake, Record, Rules, dig
from tests.kit.netbox_recording import FILE, serving
from tests.kit.repository import FLEET

RECORDED = json.loads(FILE.read_text())
LIST = "sites/lab-1.hosts.csv"
PROPOSED = "sites/lab-1.hosts.proposed.csv"
CHANGES = "sites/lab-1.hosts.changes.csv"
SECRET = "canary" * 4
HEADER = "name,pool,zone,rack,bmc,mac,ip,serial"
SAME = "lab-1-lab-001,lab,lab,lab-01,10.26.0.11,52:54:00:03:00:01,10.18.0.11,EX6610C126"
OTHERS = (
    "lab-1-lab-002,lab,lab,lab-01,10.26.0.12,52:54:00:03:00:02,10.18.0.12,EX8A383D11\n"
    "lab-1-lab-003,lab,lab,lab-01,10.26.0.13,52:54:00:03:00:03,10.18.0.13,EXE6DD58FD"
)
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with lab-1, whose list is LIST."""
    others = shutil.ignore_patterns("tokyo*", "tsukuba*", "sapporo*")
    shutil.copytree(FLEET, tmp_path / "r", ignore=others)
    monkeypatch.setenv("NETBOX_TOKEN", SECRET)
    return tmp_path / "r"


@pytest.fixture
def run(root: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run ``foresite hosts import lab-1``: the exit code, and all that it says."""

    def once(*words: object) -> tuple[int, str]:
        code = main(["--root", str(root), "hosts", "import", "lab-1", *map(str, words)])
        said = capsys.readouterr()
        text = " ".join((said.out + said.err).split())
        assert SECRET not in text and "Traceback" not in text
        return code, text

    return once


@pytest.fixture
def table(run: Run, tmp_path: Path) -> Run:
    """Import a CSV of a text."""

    def once(text: str | bytes, *words: object) -> tuple[int, str]:
        file = tmp_path / "v.csv"
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return run("--from", "csv", "--file", file, *words)

    return once


@contextmanager
def silent(certificate: Path | None) -> Iterator[str]:
    """A server that answers nothing; with a certificate that nobody signed, where one is named."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        if certificate is None:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
            return
        make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=x"
        files = ["-keyout", str(certificate), "-out", str(certificate)]
        subprocess.run([*make.split(), *files], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)

        def greet() -> None:
            with suppress(OSError), context.wrap_socket(server.accept()[0], server_side=True):
                pass

        Thread(target=greet, daemon=True).start()
        yield f"https://localhost:{server.getsockname()[1]}"


def changes(root: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((root / CHANGES).open()))


def test_the_recording_has_the_types_of_the_schema() -> None:
    types = {"string": str, "integer": int, "boolean": bool, "object": dict, "array": list}
    assert RECORDED["version"].startswith("4.7.3")
    for path, fields in RECORDED["types"].items():
        for item in RECORDED["lists"][path]:
            for field, said in fields.items():
                value = dig(item, field)
                assert isinstance(value, types[said.rstrip("?")]) or (value is None and "?" in said)


@pytest.mark.parametrize("page", [1, 3, 1000])
def test_netbox(root: Path, run: Run, page: int) -> None:
    with serving(page, RECORDED["lists"]) as (url, asked):
        code, said = run("--from", "netbox", "--url", url)
    assert code == 1 and all(each.endswith(f"Token {SECRET}") for each in asked)
    assert "7 hosts of netbox: 5 new, 0 filled, 0 taken, 2 differs, 1 left" in said
    found = (root / PROPOSED).read_text().splitlines()
    assert found[:2] == [HEADER, SAME] and "\n".join(found[2:4]) == OTHERS
    names = {
        dig(e, "name"): f"{url}/dcim/devices/{e['id']}/" for e in RECORDED["lists"]["dcim/devices"]
    }
    for name, problem in {
        "LAB-1-LAB-005": "name LAB-1-LAB-005, from netbox device",
        "lab-1-lab-006": "2 values may be its mac: 52:54:00:03:00:06 (interface eno1), 52:54:00",
        "lab-1-lab-007": "its address 10.18.0.17/25 is in a network of /25; zone lab has 10.18.0.0",
        None: "nothing says name, bmc, ip of the new host netbox device",
    }.items():  # fmt: skip
        assert f"{names[name]}: host-source" in said and problem in said
    assert f"{LIST}:3:41: host-source mac" in said and "refuses another mac" in said
    assert f"{LIST}:4:1: host-source lab-1-lab-003 is not in the source" in said
    by_cell = {(each["host"], each["column"]): each for each in changes(root)}
    assert by_cell["lab-1-lab-002", "rack"]["origin"].endswith(" rack.name")
    assert by_cell["lab-1-lab-004", "bmc"]["origin"].endswith("address of the management interface")
    assert by_cell["lab-1-lab-007", "mac"]["in_source"] == "52:54:00:03:01:07"
    assert "lab-1-lab-009" not in {host for host, _ in by_cell}


@pytest.mark.parametrize(
    ("path", "answer", "problem"),
    [
        ("devices", (401, {}), "NETBOX_TOKEN is not valid"),
        ("devices", (403, {}), "may not read devices"),
        ("interfaces", (403, {}), "/api/dcim/interfaces/: HTTP 403"),
        ("devices", (400, {}), "--query site=SLUG"),
        ("devices", (404, {}), "without /api"),
        *(
            ("devices", (code, {}), f"HTTP {code}; it redirects to http://elsewhere.example/login,")
            for code in (301, 302, 303, 307, 308)
        ),
        ("devices", (503, {}), "ask again"),
        ("devices", (200, b"<html>log in</html>"), "is no JSON"),
        ("devices", (200, b"[" * 100_000), "nested too deep"),
        ("devices", (200, [1]), "no list of NetBox"),
        ("devices", (200, {"results": [1]}), "no list of NetBox"),
        ("devices", (200, {"results": [], "next": None}), "no devices"),
        ("devices", (200, {"results": [], "next": "?x=1"}), "lead in a circle"),
        ("devices", (200, b" " * 2000), "more than 1000 bytes"),
    ],
)
def test_netbox_that_is_none(
    root: Path, run: Run, monkeypatch: pytest.MonkeyPatch, path: str, answer: Any, problem: str
) -> None:
    if "bytes" in problem:
        monkeypatch.setattr(netbox, "MAX_BYTES", 1000)
    with serving(9, RECORDED["lists"], {f"/api/dcim/{path}/": answer}) as (url, _):
        code, said = run("--from", "netbox", "--url", url)
    assert code == 2 and problem in said and not (root / PROPOSED).exists()


def test_netbox_is_asked_safely(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(netbox, "SECONDS", 0.4)
    for certificate, why in ((None, "timed out"), (tmp_path / "cert.pem", "SSL_CERT_FILE")):
        with silent(certificate) as url:
            code, said = run("--from", "netbox", "--url", url)
            assert code == 2 and why in said and f"{url}/api/dcim/devices/:" in said
    assert "over https only" in run("--from", "netbox", "--url", "http://netbox.example")[1]
    assert "NAME=VALUE" in run("--from", "netbox", "--query", "x", "--url", "https://n.example")[1]
    for wrong, why in (("a\nb: c", "printable"), ("pä", "printable"), ("a\n", "ends with white")):
        monkeypatch.setenv("NETBOX_TOKEN", wrong)
        assert why in run("--from", "netbox", "--url", "https://n.example")[1]
    monkeypatch.delenv("NETBOX_TOKEN")
    assert "NETBOX_TOKEN is not set" in run("--from", "netbox", "--url", "https://n.example")[1]


def test_the_same_list_changes_nothing(root: Path, table: Run) -> None:
    same = (root / LIST).read_text()
    assert table(same)[0] == 0 and not (root / PROPOSED).exists()
    assert table(same, "--write")[0] == 0 and (root / LIST).read_text() == same


def test_cells_are_filled_kept_and_taken(root: Path, table: Run) -> None:
    rows = [dict(zip(HEADER.split(","), each.split(","), strict=True))
            for each in (root / LIST).read_text().splitlines()[1:]]  # fmt: skip
    (root / LIST).write_text((root / LIST).read_text().replace(",EX6610C126", ","))
    rows[1]["rack"] = "lab-09"
    text = "\n".join([";".join(rows[0]), *(";".join(each.values()) for each in rows)])
    code, said = table("\ufeff" + text.replace("lab-09", "LAB-09"))
    assert code == 1 and "1 filled, 0 taken" in said
    assert "rack is lab-01 here and LAB-09" in said and "--take rack" in said
    assert table(text, "--take", "rack", "--write")[0] == 0
    assert ",lab-09,10.26.0.12," in (root / LIST).read_text()
    assert changes(root)[0]["change"] == "filled" and changes(root)[1]["change"] == "taken"


@pytest.mark.parametrize(
    ("lines", "problems"),
    [
        (["x,EX6610C126,10.26.0.12"], ["several lines: line 2 by serial, line 3 by bmc"]),
        (["x,EX6610C126,", ",,10.26.0.11"], ["leads to line 2, as does"]),
        (["x,S1,", "X,S2,"], ["name x is also that of"]),
        (["x,S 1,", "y,=1+1,"], ["serial =1+1", "is not a serial number"]),
        (["x,\x1b[31m,"], ["\\u001b[31m"]),
        (['"a,b",S1,'], ["name a,b,"]),
    ],
)
def test_hosts_that_are_not_sure_change_no_line(
    root: Path, table: Run, lines: list[str], problems: list[str]
) -> None:
    code, said = table("\n".join(["name,serial,bmc", *lines]))
    assert code == 1 and all(each in said for each in problems)
    assert (root / PROPOSED).read_text().splitlines()[1:4] == [SAME, *OTHERS.split("\n")]


@pytest.mark.parametrize(
    ("text", "words", "problem"),
    [
        ("", [], "no line has two headings"),
        (b"\xff\xfe", [], "CSV UTF-8"),
        ("name,serial,Serial\n", [], "serial stands twice"),
        ("name,serial\n" + "a,b\n" * 10_001, [], "more than 10000 hosts"),
        ("name,serial\n", ["--take", "x"], "--take x"),
        ("name,serial\n", ["--map", "/dev/null"], "not a regular file"),
        ("name,serial\nx,S1\n", ["--write"], "would have empty or wrong cells"),
        ("name,serial\n" + "\n" * 100_000, [], "more than 100000 lines"),
    ],
)
def test_tables_that_are_none(
    root: Path, table: Run, text: str, words: list[str], problem: str
) -> None:
    code, said = table(text, *words)
    assert code == 2 and problem in said and not (root / PROPOSED).exists()


def test_a_map(root: Path, table: Run, tmp_path: Path) -> None:
    file = tmp_path / "map.toml"
    file.write_text(
        '[columns]\nname = ["Box"]\nmac_storage = ["nic2"]\n[constants]\npool = "lab"\n'
        '[values.zone]\n"Hall 1" = "lab"\n'
    )
    text = "Box,hall,rack,bmc,mac,ip,serial,NIC2\n"
    text += "new-1,Hall 1,lab-01,10.26.0.20,5254.0003.0020,10.18.0.20,N1,52:54:00:03:02:20\n"
    assert "1 new" in table(text, "--map", file)[1]
    assert (root / PROPOSED).read_text().splitlines()[4] == (
        "new-1,lab,lab,lab-01,10.26.0.20,52:54:00:03:00:20,10.18.0.20,N1,52:54:00:03:02:20"
    )
    for wrong, why in (("x=", "--map"), ("[columns]\nbox=[]", "no column"), ("a=1", "--map")):
        file.write_text(wrong)
        code, said = table(text, "--map", file)
        assert code == 2 and why in said


_SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"


def spreadsheet(file: Path, rows: list[list[str]], sheets: dict[str, str]) -> None:
    """A spreadsheet whose visible sheets have the same rows; a cell is the XML of its content."""
    types = '<Override PartName="/xl/workbook.xml" ContentType="{0}.sheet.main+xml"/>'
    types += '<Override PartName="/xl/1.xml" ContentType="{0}.worksheet+xml"/>'
    names = "".join(f'<sheet name="{name}" sheetId="{at}" state="{state}" r:id="r1"/>'
                    for at, (name, state) in enumerate(sheets.items(), start=1))  # fmt: skip
    body = "".join(f"<row>{''.join(row)}</row>" for row in rows)
    relation = (
        '<Relationships xmlns="{}"><Relationship Id="r1" Type="{}/{}" Target="{}"/></Relationships>'
    )
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("[Content_Types].xml", f"<Types>{types.format(_SHEET)}</Types>")
        book.writestr(
            "_rels/.rels", relation.format(_RELATIONS, _OFFICE, "officeDocument", "xl/workbook.xml")
        )
        book.writestr(
            "xl/workbook.xml",
            f'<workbook {_MAIN} xmlns:r="{_OFFICE}"><sheets>{names}</sheets></workbook>',
        )
        book.writestr(
            "xl/_rels/workbook.xml.rels", relation.format(_RELATIONS, _OFFICE, "worksheet", "1.xml")
        )
        book.writestr("xl/1.xml", f"<worksheet {_MAIN}><sheetData>{body}</sheetData></worksheet>")


def texts(*cells: str) -> list[str]:
    return [f'<c t="inlineStr"><is><t>{each}</t></is></c>' for each in cells]


def test_a_spreadsheet(root: Path, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "v.xlsx"
    words = ("--from", "xlsx", "--file", file)
    rows = [
        texts("Delivery 7"),
        texts("Name", "Service Tag", "MAC 1", "Rack", "BMC", "Zone"),
        texts("new-1", "0012", "525400030021", "lab-01", "10.26.0.21", "lab"),
        [*texts("new-2"), "<c><v>12</v></c>", '<c t="d"><v>2026-01-02</v></c>', "<c><v>7</v></c>",
         "<c><f>1+1</f></c>", '<c t="b"><v>1</v></c>'],
    ]  # fmt: skip
    spreadsheet(file, rows, {"Hosts": "visible", "Old": "hidden"})
    code, said = run(*words)
    new = (root / PROPOSED).read_text().splitlines()[4:]
    assert new == [
        "new-1,,lab,lab-01,10.26.0.21,52:54:00:03:00:21,,0012", "new-2,,,7,,,,",
    ]  # fmt: skip
    for what in (
        "serial, from servicetag, is no text but float 12.0",
        "mac, from mac1, is no text but date",
        "zone, from zone, is no text but bool",
    ):
        assert code == 1 and what in said
    spreadsheet(file, rows, {"Hosts": "visible", "More": "visible"})
    assert "say --sheet, one of Hosts, More" in run(*words)[1]
    assert run(*words, "--sheet", "More")[0] == 1
    assert "one of Hosts" in run(*words, "--sheet", "x")[1]
    with zipfile.ZipFile(tmp_path / "z", "w", zipfile.ZIP_LZMA) as packed:
        packed.writestr("xl/workbook.xml", b"x" * 99)
    lzma = (tmp_path / "z").read_bytes().replace(b"\x5d", b"\xff", 1)
    for bad in (b"", b"PK\x03\x04", b"\xd0\xcf\x11\xe0", lzma):
        file.write_bytes(bad)
        assert "is no xlsx" in run(*words)[1]
    spreadsheet(file, [*rows, ['<c r="XFD1048576"><v>1</v></c>']], {"Hosts": "visible"})
    assert "beyond column ZZ" in run(*words)[1]
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("xl/workbook.xml", bytes(1 << 28))
    assert "unpacks to more" in run(*words)[1]


def test_a_line_of_a_returned_host_is_found_by_its_serial_alone() -> None:
    lines = [f"{HEADER},state", f"{SAME},returned"]
    intake = Intake(Rules())
    for name, serial in (("a", "S1"), ("b", "EX6610C126")):
        cells = {"name": Cell(name, "x", name), "serial": Cell(serial, "x", serial)}
        intake.records.append(Record(name, name, {**cells, "bmc": Cell("10.26.0.11", "x", "x")}))
    alone = intake.records.pop()
    assert Proposal(lines, "f", intake, []).summary() == (
        "1 new, 0 filled, 0 taken, 0 differs, 0 left"
    )
    intake.records = [alone]
    assert "0 new, 0 filled, 0 taken, 1 differs" in Proposal(lines, "f", intake, []).summary()


def test_the_diff_computes_nothing() -> None:
    change = Change("new", "=1", 0, "name", "+1", "-1", "@1", "a,b")
    assert as_csv([change]).splitlines()[1] == "new,'=1,,name,'+1,'-1,'@1,\"a,b\""


METAL3 = {
    "kind": "BareMetalHost",
    "metadata": {"name": "lab-1-lab-002", "labels": {"foresite.dev/rack": "lab-07"}},
    "spec": {"bmc": {"address": "redfish://10.26.0.12:443/redfish/v1/Systems/1"},
             "bootMACAddress": "52:54:00:03:00:02"},
    "status": {"hardware": {"systemVendor": {"serialNumber": "EX8A383D11"}}},
}  # fmt: skip


def test_metal3(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "m.json"
    nics = [{"mac": f"52:54:00:00:00:{at:02}", "name": f"eno{at}", "pxe": True} for at in (1, 2)]
    other = {"kind": "BareMetalHost", "metadata": {"name": "new-1"}, "spec": {}}
    data = {
        "kind": "HardwareData",
        "metadata": {"name": "new-1"},
        "spec": {"hardware": {"nics": nics}},
    }
    file.write_text(json.dumps({"kind": "List", "items": [METAL3, other, data]}))
    code, said = run("--from", "metal3", "--file", file)
    assert code == 1 and "1 new, 0 filled, 0 taken, 2 differs, 2 left" in said
    assert "bmc is 10.26.0.12 here and 10.26.0.12:443/redfish/v1/Systems/1" in said
    assert "2 values may be its mac: 52:54:00:00:00:01 (NIC eno1)" in said
    for bad in (b"{", b"[]", b'{"items": 1}', b'{"items": [{"kind": "Secret"}]}'):
        file.write_bytes(bad)
        code, said = run("--from", "metal3", "--file", file)
        assert code == 2 and str(file) in said
    listed = {"baremetalhosts": [other], "hardwaredata": [data]}
    monkeypatch.setattr("foresite.commands.hosts.metal3_objects", lambda *asked: listed[asked[2]])
    assert "mgmt-lab BareMetalHost new-1" in run("--from", "metal3")[1]


@pytest.mark.parametrize("data", [None, b"\xff", b"a\0b\n", b"", b"x" * (5 << 20)])
def test_a_list_that_cannot_be_read_is_not_replaced(
    root: Path, table: Run, data: bytes | None
) -> None:
    text, file = (root / LIST).read_text(), root / LIST
    if data is None:
        file.unlink()
        file.symlink_to(root / "outside")
        (root / "outside").write_text(text)
    else:
        file.write_bytes(data)
    new = text.replace("EX6610C126", "S1")
    assert table(new, "--write")[0] == 1 and not (root / PROPOSED).exists()
    assert file.is_symlink() if data is None else file.read_bytes() == data


def test_no_link_leads_a_file_elsewhere(root: Path, table: Run) -> None:
    (root / "outside").write_text("kept")
    for name in (f"sites/.{Path(PROPOSED).name}.new", PROPOSED):
        (root / name).symlink_to(root / "outside")
    table("name,serial\nnew-1,S1\n")
    assert (root / "outside").read_text() == "kept" and not (root / PROPOSED).is_symlink()
    (root / CHANGES).unlink()
    (root / CHANGES).mkdir()
    assert table("name,serial\nnew-1,S1\n")[0] == 2
    assert [each.is_symlink() for each in (root / "sites").glob(".*")] == [True]


def test_no_site_and_a_broken_list(root: Path, run: Run, table: Run) -> None:
    (root / LIST).write_text(HEADER + "\nx,y\n")
    code, said = table("name,serial\n")
    assert code == 1 and f"{LIST}:2:" in said
    (root / LIST).unlink()
    code, said = table(SAME.join(["name,pool,zone,rack,bmc,mac,ip,serial\n", "\n"]))
    assert (root / PROPOSED).read_text() == f"{HEADER}\n{SAME}\n"
    assert "say --from" in run()[1] and "say --file" in run("--from", "csv")[1]
