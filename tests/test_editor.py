"""The schema for editors: it agrees with the model, and a real language server makes use of it.

The language server is npm's, in the version of tests/editor/package-lock.json, installed once into
the cache; it runs without network.
"""

import copy
import hashlib
import ipaddress
import itertools
import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from schemas.editor import FILE, main, schema_text, site_schema
from schemas.load import hardware_catalogue, release_names, site_names
from schemas.reader import read_yaml
from schemas.sitefile import SiteFile
from tools.toolchain.cache import cache_directory, filling, locked

ROOT = Path(__file__).resolve().parent.parent
FIELDS = site_schema()["properties"]
Path_ = tuple[str | int, ...]


def read(name: str) -> dict[str, Any]:
    document, problems = read_yaml((ROOT / "sites" / f"{name}.yaml").read_bytes(), name)
    assert document is not None, problems
    assert isinstance(document.value, dict)
    return document.value


@pytest.fixture(scope="module")
def judge() -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(site_schema())


# The file


def test_the_committed_schema_is_what_the_model_and_the_catalogue_give() -> None:
    assert FILE.read_text("utf-8") == schema_text(), "run python -m schemas.editor"
    assert main(["--check"]) == 0
    assert main(["--chekc"]) == 2


def test_a_schema_is_valid_and_refers_to_nothing_outside_itself(
    judge: jsonschema.Draft7Validator,
) -> None:
    judge.check_schema(judge.schema)
    assert not re.search(r'"\$(ref|id)"', schema_text())


def schemas(node: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Each field, list item and map value of a schema, with its path."""
    for name, child in node.get("properties", {}).items():
        yield f"{path}.{name}", child
        yield from schemas(child, f"{path}.{name}")
    for child in [node.get("items"), *node.get("patternProperties", {}).values()]:
        if child:
            yield f"{path}[]", child
            yield from schemas(child, f"{path}[]")


def test_every_field_says_what_it_is_and_what_may_stand_there() -> None:
    for path, node in schemas(site_schema()):
        assert re.match(r"[A-Zk\[].{10,}", node.get("description", "")), path
        assert "`" not in node["description"], path
        assert "title" in node, path
        assert node.keys() & {"type", "anyOf", "enum"}, path
        assert ("pattern" in node) == ("patternErrorMessage" in node), path
        if "properties" in node or "patternProperties" in node:
            assert node["additionalProperties"] is False, path


def test_examples_and_defaults_are_valid_where_they_stand() -> None:
    for path, node in schemas(site_schema()):
        judge = jsonschema.Draft7Validator(node)
        for value in [*node.get("examples", []), *([node["default"]] if "default" in node else [])]:
            assert judge.is_valid(value), (path, value)


def test_words_that_are_data_come_from_the_catalogue() -> None:
    assert FIELDS["release"]["enum"] == release_names()
    offered, own = FIELDS["pools"]["items"]["properties"]["hardware"]["anyOf"]
    assert offered["enum"] == list(hardware_catalogue())
    assert all(offered["enumDescriptions"])
    assert jsonschema.Draft7Validator(own).is_valid("a-profile-of-the-site")


# The schema against the model


@pytest.mark.parametrize("name", site_names(ROOT))
def test_the_sites_of_this_repository_are_valid(
    name: str, judge: jsonschema.Draft7Validator
) -> None:
    judge.validate(read(name))


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    """A site file that says nearly everything that one can say."""
    site = read("tokyo-1")
    profile = hardware_catalogue()["v100-sxm2-32gb-x8"].model_dump(mode="json")
    pool = {
        "os": "ubuntu-24.04",
        "labels": {"example.com/team": "vision"},
        "kubelet": {"eviction_hard": {"memory": "1Gi", "nodefs_percent": 5}, "max_pods": 60},
        "health_check": {"remedy": "replace", "node_startup_timeout_seconds": 7200},
        "first_boot": site["first_boot"],
    }
    site["pools"][-1] |= pool
    site["hardware"] = {"own": profile}
    site["cluster"] |= {"workers": None, "port": 6443, "virtual_ip": "arp", "context": "tokyo-1"}
    return site


def places(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    yield path
    if isinstance(value, dict | list):
        for step in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[step], (*path, step))


def changed(document: Any, path: Path_, value: Any) -> Any:
    """A copy with another value at ``path``; ``...`` takes the value out."""
    result = copy.deepcopy(document)
    parent = result
    for step in path[:-1]:
        parent = parent[step]
    if value is ...:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return result


def accepted(document: Any) -> bool:
    try:
        SiteFile.model_validate(document)
    except ValidationError:
        return False
    return True


# None is no wrong value everywhere; nor are some texts and numbers. What counts: equal verdicts.
VALUES = [None, True, -1, 0, 1, 59, 99, 100, 101, 65536, 10**9, "", "-", "Aa_", "a" * 64, "10Gi",
          "10.1.2.3", "10.1.2.3/16", "10.1.0.0/16", "10.16.0.256", "v1.34", "http://a:b@c", [], {},
          ["a"] * 200, [{}], {"x": 1}, {"Ä": "b"}, 0.5]  # fmt: skip


def test_schema_and_model_agree_on_every_changed_value(whole: dict[str, Any]) -> None:
    judge = jsonschema_rs.Draft7Validator(site_schema())
    assert accepted(whole)
    assert judge.is_valid(whole)
    paths = [path for path in places(whole) if path and path != ("release",)]
    disagreements = [
        (path, value)
        for path in paths
        for value in [*VALUES, ...]
        if judge.is_valid(document := changed(whole, path, value)) != accepted(document)
    ]
    assert len(paths) > 100
    assert disagreements == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("sit",), "tokyo-1"),
        (("site",), "Tokyo_1"),
        (("zones", 0, "network"), "10.16.0.1/22"),
        (("sources", "registry_mirror"), "https://user:password@registry.example"),
        (("first_boot", "ssh", "keys", 0), "-----BEGIN OPENSSH PRIVATE KEY-----"),
        (("first_boot", "ca_certificates"), ["../../etc/passwd"]),
        (("pools", 1, "rollout", "max_unavailable"), "10"),
        (("pools", 1, "rollout", "max_unavailble"), 10),
        (("pools", 1, "role"), "controller"),
        (("pools", 1, "hardware"), "CPU 1U"),
        (("pools", 1, "labels"), {"a b": "c"}),
        (("cluster", "kubernetes"), "1.34.3"),
        (("cluster",), None),
        (("pools",), []),
        (("management",), ...),
    ],
)
def test_a_wrong_document_is_refused_by_both(
    path: Path_, value: Any, judge: jsonschema.Draft7Validator
) -> None:
    document = changed(read("tokyo-1"), path, value)
    assert not judge.is_valid(document)
    assert not accepted(document)


@given(st.integers(0, 2**32 - 1), st.integers(0, 32), st.booleans())
def test_a_network_matches_exactly_if_no_bit_is_set_behind_its_prefix(
    address: int, prefix: int, cut: bool
) -> None:
    pattern = re.compile(FIELDS["cluster"]["properties"]["pods"]["pattern"])
    network = ipaddress.IPv4Network((address, prefix), strict=False)
    text = str(network) if cut else f"{ipaddress.IPv4Address(address)}/{prefix}"
    assert bool(pattern.search(text)) == (str(network) == text)


# The schema in a language server

EDITOR = ROOT / "tests" / "editor"
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
        # Offline: the server cannot even try to reach another machine.
        env = os.environ | {"NODE_OPTIONS": f"--require {EDITOR / 'offline.cjs'}"}
        self.process = subprocess.Popen(
            command, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        # A server that says nothing is ended, so that no test waits for ever.
        self.watchdog = threading.Timer(120, self.process.kill)
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
        """What is offered, with the text that is inserted."""
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
    """How to run the language server, installed on first use."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("node and npm are not both on PATH, so no language server can be run")
    lock = EDITOR / "package-lock.json"
    folder = cache_directory() / "npm" / hashlib.sha256(lock.read_bytes()).hexdigest()[:12]
    with locked("npm", cache_directory(), lambda: None):
        if not folder.exists():
            with filling(folder) as new:
                for file in (lock, EDITOR / "package.json"):
                    shutil.copy(file, new)
                install = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
                done = subprocess.run(install, cwd=new, capture_output=True, text=True, check=False)
                assert done.returncode == 0, done.stderr
    server = folder / "node_modules" / "yaml-language-server" / "bin" / "yaml-language-server"
    return [node, str(server), "--stdio"]


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
    text = (ROOT / "sites" / "tokyo-1.yaml").read_text("utf-8")
    assert text.startswith(MODELINE)
    return text


@pytest.mark.editor
@pytest.mark.parametrize("name", site_names(ROOT))
def test_a_language_server_finds_nothing_wrong_with_the_sites(
    name: str, server: LanguageServer
) -> None:
    assert server.faults((ROOT / "sites" / f"{name}.yaml").read_text("utf-8")) == []


@pytest.mark.editor
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


@pytest.mark.editor
def test_the_fields_of_a_pool_are_offered(server: LanguageServer, text: str) -> None:
    offered = server.completions(f"{text}  - name: more\n    |")
    fields = FIELDS["pools"]["items"]["properties"]
    assert offered.keys() >= fields.keys() - {"name"}
    assert offered["rollout"].startswith("rollout:\n  strategy: ")


@pytest.mark.editor
@pytest.mark.parametrize(
    ("place", "values"),
    [
        ("pools:\n  - hardware: |", list(hardware_catalogue())),
        ("pools:\n  - role: |", ["control-plane", "worker"]),
        ("cluster:\n  kubernetes: |", FIELDS["cluster"]["properties"]["kubernetes"]["examples"]),
        ("release: |", [f'"{name}"' for name in release_names()]),
    ],
)
def test_the_words_of_a_closed_vocabulary_are_offered(
    place: str, values: list[str], server: LanguageServer
) -> None:
    assert list(server.completions(MODELINE + place)) == values


@pytest.mark.editor
@pytest.mark.parametrize(
    ("right", "marked", "shown"),
    [
        ("max_unavailable: 10", "max_un|available: 10", "From 0 to 100. Default: 1."),
        ("max_unavailable: 10", "max_un|available: 10", "Machines out at a time"),
        ("v100-sxm2-32gb-x8", "v100-|sxm2-32gb-x8", "4U server with eight NVIDIA V100 SXM2 32 GB"),
        ("endpoint: 10", "endp|oint: 10", "Address of the Kubernetes API"),
        ("dns: [10.16", "dns: [10|.16", "Name servers; a resolver reads three at most."),
    ],
)
def test_a_field_explains_itself(
    right: str, marked: str, shown: str, server: LanguageServer, text: str
) -> None:
    assert shown in server.hover(text.replace(right, marked, 1))
