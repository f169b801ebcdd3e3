"""A site's state and clusters as plain data, with a fake Pulumi and a fake look into the clusters:
for what ``foresite recover`` decides, not for what Pulumi does."""

import argparse
import json
import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from components.making.manifest import Json, Manifest, Target
from components.site import site_objects
from foresite.commands import recover
from foresite.delivery.recovery import examined
from foresite.delivery.servers.apiserver import Kubectl, NoAnswerError
from foresite.delivery.servers.inventory import Inventory
from foresite.delivery.stack.engine import Engine, EngineError
from foresite.delivery.stack.live import resource_name
from foresite.delivery.stack.stated import Ident, ident
from schemas.facts.site import Site
from tests.kit.repository import all_sites

SITE = "lab-1"
_FAKE_PULUMI = """#!/bin/sh
# A fake Pulumi: notes how it was called, and answers what a test has written.
echo "$*" >> {folder}/calls
case "$*" in
  "stack export"*) cat {folder}/export.json; exit "$(cat {folder}/export.code)" ;;
  "stack import"*) cp "$4" {folder}/export.json ;;
  "stack tag ls"*) echo '{{}}' ;;
  cancel*) rm -rf {folder}/.pulumi/locks ;;
  refresh*) [ ! -e {folder}/refresh.fails ] || {{ cat {folder}/refresh.fails >&2; exit 255; }} ;;
  preview*) cat {folder}/preview.json ;;
esac
"""


@dataclass
class World:
    """The objects that the state knows and those of the clusters; a test changes them."""

    folder: Path
    site: Site
    state: dict[tuple[str, str], Json] = field(default_factory=dict)
    pending: list[Json] = field(default_factory=list)
    live: dict[Ident, Json] = field(default_factory=dict)
    silent: set[Target] = field(default_factory=set)
    steps: list[Json] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    guarded: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        pulumi = self.folder / "pulumi"
        pulumi.write_text(_FAKE_PULUMI.format(folder=shlex.quote(str(self.folder))))
        pulumi.chmod(0o755)
        (self.folder / "Pulumi.yaml").write_text("name: foresite\n")
        for target in Target:
            urn = f"urn:pulumi:{SITE}::foresite::pulumi:providers:kubernetes::{target.value}"
            context = self.site.file.cluster.context
            if target is Target.MANAGEMENT or context:
                named = context if target is Target.SITE else self.site.file.management
                kind = "pulumi:providers:kubernetes"
                self.state[urn, ""] = {"urn": urn, "type": kind, "inputs": {"context": named}}
        for component, manifest in self.made():
            self.know(component, manifest)
            self.hold(manifest)

    def made(self) -> list[tuple[str, Manifest]]:
        """The objects that the site has by now, each with its component."""
        return [
            (component, each)
            for component, manifests in site_objects(self.site).items()
            for each in manifests
            if each.target is Target.MANAGEMENT or self.site.file.cluster.context
        ]

    def one(self, kind: str) -> tuple[str, Manifest]:
        """An object of a kind."""
        return next(each for each in self.made() if each[1].kind == kind)

    def urn(self, component: str, manifest: Manifest) -> str:
        api = manifest.body["apiVersion"]
        token = f"kubernetes:{api if '/' in api else f'core/{api}'}:{manifest.kind}"
        parent = f"foresite:components:{resource_name(component)}"
        return f"urn:pulumi:{SITE}::foresite::{parent}${token}::{manifest.name}"

    def know(self, component: str, manifest: Manifest, **more: Any) -> None:
        """Put an object into the state."""
        urn = self.urn(component, manifest)
        self.state[urn, str(more)] = {
            "urn": urn,
            "type": urn.split("::")[2].partition("$")[2],
            "inputs": manifest.body,
            "outputs": {"metadata": {"uid": f"uid-{manifest.title}"}},
            "protect": manifest.protect,
            "retainOnDelete": manifest.keep,
            "provider": f"urn:x::x::pulumi:providers:kubernetes::{manifest.target.value}::id",
            **more,
        }

    def hold(self, manifest: Manifest, manager: str = "foresite") -> None:
        """Put an object into its cluster."""
        metadata = {
            **manifest.body["metadata"],
            "uid": f"uid-{manifest.title}",
            "managedFields": [{"manager": manager, "operation": "Apply", "fieldsV1": {}}],
        }
        self.live[ident(manifest.target, manifest.body)] = {**manifest.body, "metadata": metadata}

    def forget(self, component: str, manifest: Manifest) -> None:
        """Take an object out of the state."""
        urn = self.urn(component, manifest)
        self.state = {key: each for key, each in self.state.items() if key[0] != urn}

    def lose(self, manifest: Manifest) -> None:
        """Take an object out of its cluster."""
        del self.live[ident(manifest.target, manifest.body)]

    def replace(self, *manifests: Manifest) -> None:
        """Have others in their places: of the same names, and created again."""
        for each in manifests:
            body = self.live[ident(each.target, each.body)]
            body["metadata"]["uid"] = f"other-{each.title}"

    def recover(self, patch: pytest.MonkeyPatch, **options: Any) -> int:
        """Run the command against all this; its exit code."""
        self._write()
        patch.setattr(recover, "engine_for", lambda *_, **__: self.engine)
        loaded = SimpleNamespace(site=self.site, problems=())
        patch.setattr(recover, "load_stack", lambda *_: loaded)
        patch.setattr(recover, "repository", lambda _: self.folder)
        patch.setattr(recover, "delete", lambda _k, _c, body: self._delete(body))
        patch.setattr(examined, "take", self._fake_look)
        patch.setattr(examined, "kubectl_of", lambda _: Kubectl(Path("kubectl"), {}))
        usual = {"site": SITE, "trial": True, "plan": False, "take_over": "", "allow": [],
                 "rebuild": None, "format": "json"}  # fmt: skip
        return recover.run(argparse.Namespace(**{**usual, **options}))

    @property
    def engine(self) -> Engine:
        env = {"PULUMI_BACKEND_URL": f"file://{self.folder}", "PATH": os.environ["PATH"]}
        return Engine(self.folder / "pulumi", env, self.folder, SITE, self.folder / "notes",
                      pack=self.folder / "pack")  # fmt: skip

    @property
    def calls(self) -> list[str]:
        """How the fake Pulumi was called."""
        path = self.folder / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def exported(self) -> Json:
        """The state as it is in the file by now."""
        found: Json = json.loads((self.folder / "export.json").read_text())
        return found

    def _write(self) -> None:
        resources = list(self.state.values())
        deployment = {"resources": resources, "pending_operations": self.pending}
        (self.folder / "export.json").write_text(json.dumps({"deployment": deployment}))
        (self.folder / "export.code").write_text("0")
        (self.folder / "preview.json").write_text(json.dumps({"steps": self.steps}))

    def _delete(self, body: Json) -> None:
        if body["metadata"]["name"] in self.guarded:
            raise EngineError("kubectl: a policy guards it")
        self.deleted.append(f"{body['kind']} {body['metadata']['name']}")
        self.live = {key: each for key, each in self.live.items() if each != body}

    def _fake_look(self, _kubectl: Kubectl, _context: str, target: Target, *_: object) -> Inventory:
        if target in self.silent:
            raise NoAnswerError("connection refused")
        return Inventory({key: each for key, each in self.live.items() if key.target is target})


def copied(manifest: Manifest, name: str, **annotations: str) -> Manifest:
    """Another object like one of the site's."""
    metadata = {**manifest.body["metadata"], "name": name}
    if annotations:
        metadata["annotations"] = annotations
    return manifest._replace(name=name, body={**manifest.body, "metadata": metadata})


def step(world: World, op: str, made: tuple[str, Manifest]) -> Json:
    """A step of a preview."""
    return {"op": op, "urn": world.urn(*made)}


@pytest.fixture
def recovery(tmp_path: Path) -> World:
    """State and cluster as the site is."""
    return World(tmp_path, all_sites()[SITE])


@pytest.fixture
def recovered(capsys: pytest.CaptureFixture[str]) -> Callable[[], Json]:
    """The output of the command, as JSON."""

    def read() -> Json:
        found: Json = json.loads(capsys.readouterr().out)
        return found

    return read


def acted(world: World) -> list[str]:
    """Calls that change something."""
    return [each for each in world.calls if each.startswith(("cancel", "refresh", "stack import"))]
