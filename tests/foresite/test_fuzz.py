"""Whatever stands in a site file, a host list or an event: an exit code, and never a traceback.

The texts are made of good ones: values, keys and cells are replaced by hostile ones, and pieces are
cut out or put in. A few are tried in each run, thousands as a proof.
"""

import copy
import io
import json
import shutil
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foresite.cli import main
from tests.invalid.faults import FOLDER
from tests.kit.repository import FLEET, copy_sites

FEW, MANY = 20, 2_000
MOST = 512 * 1024
"""Characters of an answer, at most."""
_anywhere = settings(
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

HOSTILE = st.one_of(
    st.sampled_from([
        None, True, False, 0, -1, 2**31, 2**63 - 1, -(2**63), 2**64, 1.5, float("inf"),
        float("nan"), "", " ", "TODO", "null", "~", "0110", "1e9", "999999999Ti", "50m", "0", "-1",
        "1_000", "127.0.0.1", "0.0.0.0/0", "169.254.0.0/16", "fd00::1", "999.999.999.999", "a..b",
        "a" * 300, "http://[::1", "http://:80", "https://a:99999999/", "http://{{bad",
        "http://u:p@h/%zz", "ssh-ed25519 AAAA", "ssh-rsa " + "A" * 2000, "../../etc/passwd",
        "/dev/zero", "\u202e", "\x7f", "\ud7ff\uffff", "é" * 64, "$(id)", "{{ .x }}", "%s%n",
        "a,b", "a\nb", "a\r", "(" * 200, "[" * 200, [], {}, [[]], [{}], {"": 1},
        {"a": {"b": {"c": []}}}, ["x"] * 200, {"name": "x"},
    ]),
    st.text(max_size=20),
    st.integers(),
    st.recursive(st.none() | st.text(max_size=5), lambda kids: st.lists(kids, max_size=3)),
)  # fmt: skip
KEYS = ("name", "site", "vlan", "ipv6", "password", "<<", "[key]", "", "0", "\u202e")


def run(*arguments: str) -> tuple[int, str]:
    """The exit code of a command, and all that it printed."""
    shown = io.StringIO()
    with redirect_stdout(shown), redirect_stderr(shown):
        try:
            code = main(list(arguments))
        except SystemExit as end:
            code = int(end.code or 0)
    return code, shown.getvalue()


def judge(*arguments: str) -> None:
    code, shown = run(*arguments)
    assert code in (0, 1, 2)
    assert "Traceback" not in shown
    assert len(shown) < MOST
    assert all(c.isprintable() or c == "\n" for c in shown)


# --- site files -----------------------------------------------------------------------------------


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of each value in plain data."""
    found = [path] if path else []
    pairs = list(value.items()) if isinstance(value, dict) else []
    pairs += enumerate(value) if isinstance(value, list) else []
    for key, item in pairs:
        found += places(item, (*path, key))
    return found


def put(value: Any, path: tuple[Any, ...], new: Any) -> None:
    for step in path[:-1]:
        value = value[step]
    value[path[-1]] = new


GOOD = {
    path.stem: yaml.safe_load(path.read_text("utf-8"))
    for path in (FOLDER / "base/sites/kyoto-1.yaml", *sorted((FLEET / "sites").glob("*.yaml")))
}
"""Site files of which hostile ones are made: a small one, and those with every section."""


@st.composite
def site_texts(draw: st.DrawFn) -> tuple[str, str]:
    name = draw(st.sampled_from(sorted(GOOD)))
    data = copy.deepcopy(GOOD[name])
    for _ in range(draw(st.integers(1, 4))):
        path = draw(st.sampled_from(places(data)))
        holder = path[:-1]
        if draw(st.booleans()) and isinstance(path[-1], str):
            put(data, (*holder, draw(st.sampled_from(KEYS))), draw(HOSTILE))
        else:
            put(data, path, draw(HOSTILE))
    return name, spliced(draw, yaml.safe_dump(data, allow_unicode=True, sort_keys=False))


PIECES = (
    "", "&a ", "*a ", "!!python/object:x ", "\t", "---\n", "...\n", "%YAML 1.1\n", "- ", ": ", "[",
    "{", '"', "'", "|\n", "#", "? ", "<<: ", "\0", "\ufeff", "0x", "\r",
)  # fmt: skip


def spliced(draw: st.DrawFn, text: str) -> str:
    """A text with pieces put in, or cut out."""
    for _ in range(draw(st.integers(0, 2))):
        at, length = int(draw(st.floats(0, 1)) * len(text)), draw(st.integers(0, 8))
        text = text[:at] + draw(st.sampled_from(PIECES)) + text[at + length :]
    return text


def check_site(root: Path, name: str, text: str) -> None:
    copy_sites(root)
    shutil.copytree(FOLDER / "base", root, dirs_exist_ok=True)
    (root / "sites" / f"{name}.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
    judge("--root", str(root), "check", name)


@settings(_anywhere, max_examples=FEW)
@given(site_texts())
def test_a_site_file_is_judged_whatever_it_holds(tmp_path: Path, site: tuple[str, str]) -> None:
    check_site(tmp_path, *site)


@pytest.mark.proof
@settings(_anywhere, max_examples=MANY)
@given(site_texts())
def test_thousands_of_site_files_are_judged(tmp_path: Path, site: tuple[str, str]) -> None:
    check_site(tmp_path, *site)


# --- host lists -----------------------------------------------------------------------------------

HOSTS = (FOLDER / "base/sites/kyoto-1.hosts.csv").read_text("utf-8")
CELLS = st.text(max_size=10) | st.sampled_from([
    "", " ", '"', '""', "\t", ";", "#", "admin:pw@10.40.0.16", "fd00::1", "255.255.255.255",
    "0.0.0.0", "10.40.0.011", "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00", "A" * 100, "\u202e",
    "=cmd()", "\0", "\r", "123e4567-e89b-12d3-a456-426614174000", "x" * 5_000,
])  # fmt: skip


@st.composite
def host_texts(draw: st.DrawFn) -> str:
    rows = [line.split(",") for line in HOSTS.rstrip("\n").split("\n")]
    for _ in range(draw(st.integers(1, 5))):
        row = draw(st.integers(0, len(rows) - 1))
        column = draw(st.integers(0, len(rows[row])))
        rows[row][column : column + draw(st.integers(0, 2))] = [draw(CELLS)]
    rows += draw(st.sampled_from([[], rows[1:], rows[1:] * 30, [[""]] * 200]))
    text = draw(st.sampled_from(["\n", "\r\n", "\r"])).join(map(",".join, rows))
    return spliced(draw, text)


def check_hosts(root: Path, text: str) -> None:
    shutil.copytree(FOLDER / "base", root, dirs_exist_ok=True)
    (root / "sites" / "kyoto-1.hosts.csv").write_bytes(text.encode("utf-8", "surrogatepass"))
    judge("--root", str(root), "check")


@settings(_anywhere, max_examples=FEW)
@given(host_texts())
def test_a_host_list_is_judged_whatever_it_holds(tmp_path: Path, text: str) -> None:
    check_hosts(tmp_path, text)


@pytest.mark.proof
@settings(_anywhere, max_examples=MANY)
@given(host_texts())
def test_thousands_of_host_lists_are_judged(tmp_path: Path, text: str) -> None:
    check_hosts(tmp_path, text)


# --- events ---------------------------------------------------------------------------------------

FIELDS = ("pull_request", "body", "merge_group", "head_commit", "message", "workflow_run", "x")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda kids: (
        st.lists(kids, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), kids, max_size=3)
    ),
    max_leaves=8,
)
EVENTS = st.one_of(
    st.dictionaries(st.sampled_from(FIELDS), JSON).map(lambda event: json.dumps(event).encode()),
    JSON.map(lambda value: json.dumps(value).encode()),
    st.binary(max_size=40),
    st.sampled_from([
        b"[" * 100_000, b'{"a":' * 100_000, b"9" * 5_000, b'"\\ud800"', b"\xef\xbb\xbf{}", b"{}\0",
        b'{"pull_request":{"body":"\\ud800"}}',
    ]),
)  # fmt: skip


def read_event(folder: Path, data: bytes) -> None:
    event = folder / "event.json"
    event.write_bytes(data)
    judge("request", "--event", str(event), "--out", str(folder / "request.txt"))
    body = folder / "comment.md"
    body.write_bytes(data)
    judge("comment", "--event", str(event), "--repository", "a/b", "--file", str(body))


@settings(_anywhere, max_examples=FEW * 5)
@given(EVENTS)
def test_an_event_is_read_whatever_it_holds(tmp_path: Path, data: bytes) -> None:
    read_event(tmp_path, data)


@pytest.mark.proof
@settings(_anywhere, max_examples=MANY * 5)
@given(EVENTS)
def test_thousands_of_events_are_read(tmp_path: Path, data: bytes) -> None:
    read_event(tmp_path, data)
