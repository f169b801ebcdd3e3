"""A real YAML language server makes use of the schema for editors.

It is npm's, in the version of tests/kit/editor/package-lock.json, installed once into the cache,
and it runs without network. What the schema itself must be is in test_editor_schema.py.
"""

import hashlib
import itertools
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas.editor import FILE, site_schema
from schemas.load import site_names
from schemas.reading.catalogue import hardware_catalogue, release_names
from tests.kit.repository import FLEET, ROOT, WRITTEN_OUT
from tools.toolchain.cache import cache_directory, filling, hold_lock

pytestmark = pytest.mark.editor
FIELDS = site_schema()["properties"]
EDITOR = ROOT / "tests" / "kit" / "editor"
MODELINE = "# yaml-language-server: $schema=../schemas/site.schema.json\n"
SETTINGS = {
    "validate": True,
    "hover": True,
    "completion": True,
    "schemaStore": {"enable": False},
    "kubernetesCRDStore": {"enable": False},
}
CAPABILITIES = {
    "workspace": {"configuration": True},
    "textDocument": {"hover": {"contentFormat": ["markdown"]}},
}


class LanguageServer:
    """As much of an editor as the tests need: documents are opened once and never changed."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self.process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        # A server that says nothing is ended, so that no test waits for ever.
        self.watchdog = threading.Timer(120, self.process.kill)
        self.watchdog.daemon = True
        self.watchdog.start()
        self.folder = folder
        self.ids = itertools.count(1)
        self.diagnostics: dict[str, list[dict[str, Any]]] = {}
        self.ask("initialize", processId=None, rootUri=folder.as_uri(), capabilities=CAPABILITIES)
        self.send({"method": "initialized", "params": {}})

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """The next message; what the server asks and tells is dealt with on the way."""
        assert self.process.stdout is not None
        length = 0
        while line := self.process.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        assert length, f"the language server has ended: {self.process.wait()}"
        message: dict[str, Any] = json.loads(self.process.stdout.read(length))
        parameters = message.get("params", {})
        if message.get("method") == "textDocument/publishDiagnostics":
            self.diagnostics[parameters["uri"]] = parameters["diagnostics"]
        elif message.get("method") == "workspace/configuration":
            sections = [item.get("section") for item in parameters["items"]]
            result = [SETTINGS if section == "yaml" else {} for section in sections]
            self.send({"id": message["id"], "result": result})
        elif "method" in message and "id" in message:
            self.send({"id": message["id"], "result": None})
        return message

    def ask(self, method: str, **parameters: Any) -> Any:
        number = next(self.ids)
        self.send({"id": number, "method": method, "params": parameters})
        while (answer := self.receive()).get("id") != number or "method" in answer:
            pass
        assert "error" not in answer, answer
        return answer["result"]

    def open(self, text: str) -> str:
        uri = (self.folder / "sites" / f"{next(self.ids)}.yaml").as_uri()
        document = {"uri": uri, "languageId": "yaml", "version": 1, "text": text}
        self.send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        return uri

    def faults(self, text: str) -> list[tuple[int, str]]:
        """Line, counted from 1, and message of each diagnostic."""
        uri = self.open(text)
        while uri not in self.diagnostics:
            self.receive()
        faults = self.diagnostics[uri]
        return [(fault["range"]["start"]["line"] + 1, fault["message"]) for fault in faults]

    def at(self, method: str, text: str) -> Any:
        """Ask about the place that ``|`` marks in a text."""
        before, _, after = text.partition("|")
        position = {"line": before.count("\n"), "character": len(before.rpartition("\n")[2])}
        identity = {"uri": self.open(before + after)}
        return self.ask(method, textDocument=identity, position=position)

    def hover(self, text: str) -> str:
        markdown: str = self.at("textDocument/hover", text)["contents"]["value"]
        return markdown.replace("\\", "")

    def completions(self, text: str) -> dict[str, str]:
        """The completions on offer, with the inserted text."""
        items = self.at("textDocument/completion", text)["items"]
        return {item["label"]: item["insertText"] for item in items}

    def close(self) -> None:
        self.send({"method": "exit"})
        try:
            self.process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.watchdog.cancel()


@pytest.fixture(scope="session")
def command() -> list[str]:
    """How to run the language server, installed on first use; offline.cjs keeps it to itself."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("node and npm are not both on PATH, so no language server can be run")
    lock = EDITOR / "package-lock.json"
    folder = cache_directory() / "npm" / hashlib.sha256(lock.read_bytes()).hexdigest()[:12]
    with hold_lock("npm"):
        if not folder.exists():
            with filling(folder) as new:
                for file in (lock, EDITOR / "package.json"):
                    shutil.copy(file, new)
                install = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
                done = subprocess.run(install, cwd=new, capture_output=True, text=True, check=False)
                assert done.returncode == 0, done.stderr
    server = folder / "node_modules" / "yaml-language-server" / "bin" / "yaml-language-server"
    return [node, "--require", str(EDITOR / "offline.cjs"), str(server), "--stdio"]


@pytest.fixture(scope="module")
def server(
    command: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LanguageServer]:
    folder = tmp_path_factory.mktemp("editor")
    (folder / "schemas").mkdir()
    shutil.copy(FILE, folder / "schemas")
    server = LanguageServer(command, folder)
    yield server
    server.close()


@pytest.fixture(scope="module")
def text() -> str:
    text = (WRITTEN_OUT / "tokyo-1.yaml").read_text("utf-8")
    assert text.startswith(MODELINE)
    return text


@pytest.mark.parametrize("name", site_names(FLEET))
def test_a_language_server_finds_nothing_wrong_with_the_sites(
    name: str, server: LanguageServer
) -> None:
    assert server.faults((WRITTEN_OUT / f"{name}.yaml").read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("max_surge: 2", "max_surg: 2", r"Property max_surg is not allowed\."),
        ('release: "2026.11"', "release: 2026.11", r'Expected "string"'),
        ("role: control-plane", "role: controller", r'Valid values: "control-plane", "worker"'),
        ("network: 10.16.4.0/22", "network: 10.16.5.0/22", "No bit is set behind the prefix"),
        ("http://images", "http://me:secret@images", "no user and no password"),
        ("kubernetes: v1.34.3", "kubernetes: 1.34.3", r"such as v1\.34\.3"),
        ("max_unavailable: 10", "max_unavailable: 101", "maximum of 100"),
    ],
)
def test_a_fault_is_shown_on_its_line_with_what_to_write(
    right: str, wrong: str, message: str, server: LanguageServer, text: str
) -> None:
    faults = server.faults(text.replace(right, wrong, 1))
    line = text[: text.index(right)].count("\n") + 1
    assert {number for number, _ in faults} == {line}
    assert re.search(message, faults[0][1])


def test_the_fields_of_a_pool_are_offered(server: LanguageServer, text: str) -> None:
    pools = text[: text.index("accelerators:\n")].rstrip()
    offered = server.completions(f"{pools}\n  - name: more\n    |")
    fields = FIELDS["pools"]["items"]["properties"]
    assert offered.keys() >= fields.keys() - {"name"}
    assert offered["rollout"].startswith("rollout:\n  strategy: ")


@pytest.mark.parametrize(
    ("place", "values"),
    [
        ("pools:\n  - hardware: |", list(hardware_catalogue().entries)),
        ("pools:\n  - role: |", ["control-plane", "worker"]),
        ("cluster:\n  kubernetes: |", FIELDS["cluster"]["properties"]["kubernetes"]["examples"]),
        ("release: |", [f'"{name}"' for name in release_names()]),
    ],
)
def test_the_words_of_a_closed_vocabulary_are_offered(
    place: str, values: list[str], server: LanguageServer
) -> None:
    assert list(server.completions(MODELINE + place)) == values


@pytest.mark.parametrize(
    ("right", "marked", "shown"),
    [
        ("max_unavailable: 10", "max_un|available: 10", "From 0 to 100. Default: 1."),
        (
            "max_unavailable: 10",
            "max_un|available: 10",
            "Machines that may be unavailable at a time",
        ),
        ("v100-sxm2-32gb-x8", "v100-|sxm2-32gb-x8", "4U server with eight NVIDIA V100 SXM2 32 GB"),
        ("endpoint: 10", "endp|oint: 10", "Address of the Kubernetes API"),
        ("dns: [10.16", "dns: [10|.16", "Name servers; a resolver reads three at most."),
    ],
)
def test_a_field_explains_itself(
    right: str, marked: str, shown: str, server: LanguageServer, text: str
) -> None:
    assert shown in server.hover(text.replace(right, marked, 1))
