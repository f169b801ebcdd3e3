"""Each row of the table of hostile inputs is tried, and gets what the page says.

The page is docs/hostile-input.md. A row's first cell names a case below; no input may end in a
traceback or be read without end.
"""

import importlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from foresite.cli import main
from tests.invalid.faults import FOLDER
from tests.kit.forge import DIRECTORY, FILE, LINK, SUBMODULE, Entry, Forge
from tests.kit.repository import ROOT

PAGE = ROOT / "docs" / "hostile-input.md"
MARK = "<!-- foresite-preview -->\n"
MAX_OUTPUT = 256 * 1024
"""Characters that a command prints of any of these inputs, at most."""

Case = Callable[[Path], list[str]]
CASES: dict[str, Case] = {}


def case(words: str) -> Callable[[Case], Case]:
    """Note a case by its words in the table; it changes a good repository and gives a command."""

    def note(made: Case) -> Case:
        CASES[words] = made
        return made

    return note


def in_site(words: str, old: str, new: str | Callable[[], str], name: str = "kyoto-1.yaml") -> None:
    """Note a check of a site with an edit of one of its files."""

    def change(root: Path) -> list[str]:
        path = root / "sites" / name
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new if isinstance(new, str) else new(), 1), "utf-8")
        return ["check", "kyoto-1"]

    CASES[words] = change


def replaced(root: Path, name: str) -> Path:
    """A path below sites/ at which nothing is any more."""
    path = root / "sites" / name
    path.unlink(missing_ok=True)
    return path


def written(root: Path, name: str, data: bytes) -> str:
    path = root / name
    path.write_bytes(data)
    return str(path)


def pipe(path: Path) -> str:
    os.mkfifo(path)
    return str(path)


def request(event: str, root: Path) -> list[str]:
    return ["request", "--event", event, "--out", str(root / "request.txt")]


def comment(root: Path, *more: str) -> list[str]:
    body = written(root, "comment.md", f"{MARK}x\n".encode())
    return ["comment", "--pull", "7", "--repository", "a/b", "--file", body, *more]


# --- files ----------------------------------------------------------------------------------------


@case("a pipe in place of a site file")
def _(root: Path) -> list[str]:
    pipe(replaced(root, "kyoto-1.yaml"))
    return ["check", "kyoto-1"]


@case("a device in place of a host list, through a link")
def _(root: Path) -> list[str]:
    replaced(root, "kyoto-1.hosts.csv").symlink_to("/dev/zero")
    return ["check", "kyoto-1"]


@case("a host list of 3 GiB")
def _(root: Path) -> list[str]:
    with replaced(root, "kyoto-1.hosts.csv").open("wb") as file:
        file.truncate(3 * 2**30)
    return ["check", "kyoto-1"]


@case("certificates of 3 GiB")
def _(root: Path) -> list[str]:
    with replaced(root, "ca.pem").open("wb") as file:
        file.truncate(3 * 2**30)
    return ["check", "kyoto-1"]


@case("a pipe in place of the catalogue")
def _(root: Path) -> list[str]:
    folder = root / "schemas" / "catalogue"
    folder.mkdir(parents=True)
    pipe(folder / "hardware.yaml")
    return ["check", "kyoto-1"]


@case("a link to a file of the machine")
def _(root: Path) -> list[str]:
    replaced(root, "ca.pem").symlink_to("/etc/passwd")
    return ["check", "kyoto-1"]


@case("a link that leads to itself")
def _(root: Path) -> list[str]:
    replaced(root, "kyoto-1.yaml").symlink_to("kyoto-1.yaml")
    return ["check", "kyoto-1"]


@case("a file name that would colour the terminal")
def _(root: Path) -> list[str]:
    (root / "sites" / "\x1b[31mred.yaml").write_text("site: red\n")
    return ["check"]


# --- text and numbers -----------------------------------------------------------------------------

in_site("YAML whose aliases multiply", "site:", lambda: bomb() + "site:")
in_site("YAML that is 200 levels deep", "region: jp-west", f"region: {'[' * 200}{']' * 200}")
in_site("20,000 values in one file", "region: jp-west", f"region: [{'1,' * 20_000}]")
in_site("a number of 5,000 digits", "max_unavailable: 1",
        f"max_unavailable: {'9' * 5000}")  # fmt: skip
in_site("an octal number", "max_unavailable: 1", "max_unavailable: 010")
in_site("a number beyond every host", "pools:\n",
        "hardware: {own: {description: x, cpu_cores: 1, memory_gib: 1300000000, "
        "root_disk: {rotational: false}}}\npools:\n")  # fmt: skip
in_site("text that reads from right to left", "jp-west", '"jp\u202ewest"')
in_site("a terminal's escape sequence", "jp-west", '"\\e[2J"')
in_site("half a character of UTF-16", "jp-west", '"\\ud800"')
in_site("a key of 60,000 characters", "region:", f"{'k' * 60_000}: 1\nregion:")
in_site("a cell of 1,000,000 characters", "EX11000001", "x" * 1_000_000, "kyoto-1.hosts.csv")
in_site("a line of 1,000,000 commas", "EX11000001", "," * 1_000_000, "kyoto-1.hosts.csv")
in_site("a zero byte in a host list", "EX11000001", "EX\0", "kyoto-1.hosts.csv")
in_site(
    "a URL with a port beyond any", "http://images.kyoto-1.example", "http://a.example:99999999"
)
in_site("a URL with half an IPv6 address", "http://images.kyoto-1.example", "http://[::1")
in_site("a zone in the loopback network", "10.32.1.0/24", "127.0.0.0/24")
in_site("a name server of 0.0.0.0", "dns: [10.32.0.2]", "dns: [0.0.0.0]")
in_site("a public key that is cut off", "SSyMhAs2aA", "SSyM")
in_site("a size in thousandths of a byte", "    labels:",
        "    kubelet: {container_log_max_size: 50m}\n    labels:")  # fmt: skip
in_site("manifests that are 100,000 levels deep", "apiVersion: v1",
        f"apiVersion: v1\nx: {'[' * 100_000}", "pod-network/example.yaml")  # fmt: skip


def bomb() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    return "\n".join(lines) + "\n"


# --- many -----------------------------------------------------------------------------------------


@case("10,000 faulty host lines")
def _(root: Path) -> list[str]:
    path = root / "sites" / "kyoto-1.hosts.csv"
    header = path.read_text("utf-8").split("\n")[0]
    path.write_text(f"{header}\n" + "A_,B_,C_,!,x,y,z,!\n" * 10_000)
    return ["check", "kyoto-1"]


@case("10,001 hosts")
def _(root: Path) -> list[str]:
    path = root / "sites" / "kyoto-1.hosts.csv"
    header = path.read_text("utf-8").split("\n")[0]
    path.write_text(f"{header}\n" + "x\n" * 10_001)
    return ["check", "kyoto-1"]


@case("30 sites that all clash")
def _(root: Path) -> list[str]:
    for number in range(30):
        for ending in (".yaml", ".hosts.csv"):
            text = (root / "sites" / f"kyoto-1{ending}").read_text("utf-8")
            text = text.replace("site: kyoto-1", f"site: kyoto-{number + 2}")
            (root / "sites" / f"kyoto-{number + 2}{ending}").write_text(text)
    return ["check"]


@case("a repository without sites")
def _(root: Path) -> list[str]:
    shutil.rmtree(root / "sites")
    (root / "sites").mkdir()
    return ["render"]


# --- secrets --------------------------------------------------------------------------------------

in_site("a password before the address of a BMC", "10.40.0.16", "admin:hunter2@10.40.0.16",
        "kyoto-1.hosts.csv")  # fmt: skip
in_site("a password behind -p in a cell", "EX11000006", "-phunter2", "kyoto-1.hosts.csv")
in_site("a header with a password in a comment", "bmc:",
        "# Authorization: Basic aHVudGVyMg==\nbmc:")  # fmt: skip
in_site("a comment that says the password", "bmc:", "# the password is hunter2!\nbmc:")


# --- the command line -----------------------------------------------------------------------------


@case("an event of 200,000 brackets")
def _(root: Path) -> list[str]:
    return request(written(root, "event.json", b"[" * 200_000), root)


@case("an event with a number of 1,000,000 digits")
def _(root: Path) -> list[str]:
    return request(written(root, "event.json", b"9" * 1_000_000), root)


@case("a pipe as an event")
def _(root: Path) -> list[str]:
    return request(pipe(root / "event.json"), root)


@case("a device as an event")
def _(root: Path) -> list[str]:
    return request("/dev/zero", root)


@case("a pull request whose text is a map")
def _(root: Path) -> list[str]:
    return request(written(root, "event.json", b'{"pull_request": {"body": {}}}'), root)


@case("an event whose head is a number")
def _(root: Path) -> list[str]:
    ran = (
        b'{"workflow_run": {"head_sha": 1, "head_branch": [], "head_repository": {"full_name": 7}}}'
    )
    event = written(root, "event.json", ran)
    body = written(root, "comment.md", f"{MARK}x\n".encode())
    return ["comment", "--event", event, "--repository", "a/b", "--file", body]


@case("a pipe as a comment")
def _(root: Path) -> list[str]:
    return [*comment(root), "--file", pipe(root / "pipe")]


@case("an API with half an IPv6 address")
def _(root: Path) -> list[str]:
    return comment(root, "--api", "https://[::1")


@case("an API with a port beyond any")
def _(root: Path) -> list[str]:
    return comment(root, "--api", "https://api.example:99999999")


@case("an API with a password")
def _(root: Path) -> list[str]:
    return comment(root, "--api", "https://me:hunter2@api.example")


@case("an API with a space")
def _(root: Path) -> list[str]:
    return comment(root, "--api", "https://api example")


@case("the name of a site that leads out")
def _(root: Path) -> list[str]:
    return ["check", "../../etc/passwd"]


@case("a path of 100,000 characters to explain")
def _(root: Path) -> list[str]:
    return ["explain", "kyoto-1", "[" * 100_000]


@case("an image with a password")
def _(root: Path) -> list[str]:
    job = ["job", "kyoto-1", "all-reduce", "--model", "v100-sxm2-32gb", "--workers", "1"]
    return [*job, "--namespace", "vision", "--image", "me:hunter2@registry.example/a:1"]


# --- the page -------------------------------------------------------------------------------------


def table(title: str) -> list[list[str]]:
    """The rows of a table of the page, each as its cells without marks of code."""
    part = PAGE.read_text("utf-8").split(f"## {title}\n")[1].split("\n## ")[0]
    lines = [line for line in part.split("\n") if line.startswith("| ")]
    return [[cell.strip().replace("`", "") for cell in line.strip("|").split(" | ")]
            for line in lines[1:]]  # fmt: skip


# --- commits made by hand -------------------------------------------------------------------------


def made_by_hand(words: str, make: Callable[[Forge], list[Entry]]) -> None:
    """Note a preview of a commit with more entries below sites/."""

    def change(root: Path) -> list[str]:
        who = ("-c", "user.name=T", "-c", "user.email=t@example.com")
        for command in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "x")):
            subprocess.run(["git", *who, *command], cwd=root, check=True)
        forge = Forge(root)
        return ["preview", "--base", "main", "--head", forge.commit(*make(forge))]

    CASES[words] = change


made_by_hand("a commit with a folder called ..", lambda forge: [forge.file(b"..", b"..", b"x")])
made_by_hand("a commit with a folder called .git", lambda forge: [forge.file(b".git", b"x")])
made_by_hand("a commit with a line feed in a name", lambda forge: [forge.file(b"a\nb")])
made_by_hand(
    "a commit with a link beside a folder of its name",
    lambda forge: [(LINK, b"zz", forge.store("blob", b"/tmp")), forge.file(b"zz", b"x")],
)
made_by_hand(
    "a commit with a submodule in place of a site",
    lambda forge: [(SUBMODULE, b"new-1.yaml", forge.base)],
)
made_by_hand(
    "a commit with 100,000 files",
    lambda forge: [
        (DIRECTORY, b"many", forge.tree((FILE, b"%06d" % n, forge.base) for n in range(100_000)))
    ],
)
made_by_hand(
    "a commit with a site file of 5 MiB",
    lambda forge: [forge.file(b"new-1.yaml", data=b"x" * 5 * 2**20)],
)


ROWS = {row[0]: row[1:] for row in table("What each input gets")}


def test_the_page_has_every_case() -> None:
    assert list(ROWS) == list(CASES)


@pytest.mark.parametrize("words", CASES)
def test_a_hostile_input_gets_what_the_page_says(
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "a-token")
    shutil.copytree(FOLDER / "base", tmp_path, dirs_exist_ok=True)
    code = main(["--root", str(tmp_path), *CASES[words](tmp_path)])
    shown = "".join(capsys.readouterr())
    exit_code, says = ROWS[words]
    assert code == int(exit_code), shown[-2000:]
    assert says in shown, shown[-2000:]
    assert "Traceback" not in shown and "hunter2" not in shown and "\x1b" not in shown
    assert len(shown) < MAX_OUTPUT


@pytest.mark.parametrize("row", table("Limits"), ids=lambda row: row[0])
def test_a_limit_is_what_the_code_has(row: list[str]) -> None:
    _, limit, constant = row
    module, _, name = constant.rpartition(".")
    value = getattr(importlib.import_module(module), name)
    number = re.match(r"([0-9,]+)(?: (KiB|MiB|s))?", limit)
    assert number, limit
    scale = {"KiB": 2**10, "MiB": 2**20}.get(number[2] or "", 1)
    assert int(number[1].replace(",", "")) * scale == value
