"""Hostile inputs by the words of docs/hostile-input.md: a change of a repository, and a command."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.kit.forge import preview_of_commit

MARK = "<!-- foresite-preview -->\n"
Case = Callable[[Path], list[str]]
CASES: dict[str, Case] = {}


def case(words: str) -> Callable[[Case], Case]:
    """Note a case by its words in the table; it changes a good repository and gives a command."""

    def note(made: Case) -> Case:
        CASES[words] = made
        return made

    return note


def in_site(words: str, old: str, new: str, name: str = "kyoto-1.yaml") -> None:
    """Note a check of a site with an edit of one of its files."""

    def change(root: Path) -> list[str]:
        path = root / "sites" / name
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), "utf-8")
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


def bomb() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    return "\n".join(lines) + "\n"


HOSTS, MANIFESTS = "kyoto-1.hosts.csv", "pod-network/example.yaml"
OWN = "hardware: {own: {description: x, cpu_cores: 1, memory_gib: 1300000000, root_disk: {}}}\n"
LOG = "    kubelet: {container_log_max_size: 50m}\n    labels:"
for row in (
    ("YAML whose aliases multiply", "site:", f"{bomb()}site:"),
    ("YAML that is 200 levels deep", "region: jp-west", f"region: {'[' * 200}{']' * 200}"),
    ("20,000 values in one file", "region: jp-west", f"region: [{'1,' * 20_000}]"),
    ("a number of 5,000 digits", "max_unavailable: 1", f"max_unavailable: {'9' * 5000}"),
    ("an octal number", "max_unavailable: 1", "max_unavailable: 010"),
    ("a number beyond every host", "pools:\n", f"{OWN}pools:\n"),
    ("text that reads from right to left", "jp-west", '"jp\u202ewest"'),
    ("a terminal's escape sequence", "jp-west", '"\\e[2J"'),
    ("half a character of UTF-16", "jp-west", '"\\ud800"'),
    ("a key of 60,000 characters", "region:", f"{'k' * 60_000}: 1\nregion:"),
    ("a cell of 1,000,000 characters", "EX11000001", "x" * 1_000_000, HOSTS),
    ("a line of 1,000,000 commas", "EX11000001", "," * 1_000_000, HOSTS),
    ("a zero byte in a host list", "EX11000001", "EX\0", HOSTS),
    ("a URL with a port beyond any", "http://images.kyoto-1.our-lan", "http://a.example:99999999"),
    ("a URL with half an IPv6 address", "http://images.kyoto-1.our-lan", "http://[::1"),
    ("a zone in the loopback network", "10.32.1.0/24", "127.0.0.0/24"),
    ("a name server of 0.0.0.0", "dns: [10.32.0.2]", "dns: [0.0.0.0]"),
    ("a public key that is cut off", "SSyMhAs2aA", "SSyM"),
    ("a size in thousandths of a byte", "    labels:", LOG),
    ("manifests that are 100,000 levels deep", "kind:", f"x: {'[' * 100_000}\nkind:", MANIFESTS),
    ("a password before the address of a BMC", "10.40.0.16", "admin:hunter2@10.40.0.16", HOSTS),
    ("a password behind -p in a cell", "EX11000006", "-phunter2", HOSTS),
    ("a header with a password in a comment", "bmc:", "# Authorization: Basic hunter2\nbmc:"),
    ("a comment that says the password", "bmc:", "# the password is hunter2!\nbmc:"),
):
    in_site(*row)


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


@case("a device in place of fleet.yaml, through a link")
def _(root: Path) -> list[str]:
    (root / "fleet.yaml").symlink_to("/dev/zero")
    return ["check"]


@case("a text in place of the minutes of fleet.yaml")
def _(root: Path) -> list[str]:
    written(root, "fleet.yaml", b"rings: {soak_minutes: 30m}\n")
    return ["check"]


@case("a password in the URL of fleet.yaml")
def _(root: Path) -> list[str]:
    written(root, "fleet.yaml", b"manifests: {repository: https://me:hunter2@a/b}\n")
    return ["check"]


# --- commits made by hand -------------------------------------------------------------------------

CASES |= {
    f"a commit with {words}": preview_of_commit(make)
    for words, make in (
        ("a folder called ..", lambda forge: (forge.file(b"..", b"..", b"x"),)),
        ("a folder called .git", lambda forge: (forge.file(b".git", b"x"),)),
        ("a line feed in a name", lambda forge: (forge.file(b"a\nb"),)),
        (
            "a link beside a folder of its name",
            lambda forge: (forge.link(b"zz", b"/tmp"), forge.file(b"zz", b"x")),
        ),
        ("a submodule in place of a site", lambda forge: (forge.submodule(b"new-1.yaml"),)),
        ("100,000 files", lambda forge: (forge.folder(b"many", files=100_000),)),
        ("a site file of 5 MiB", lambda forge: (forge.file(b"new-1.yaml", data=b"x" * 5 * 2**20),)),
    )
}
