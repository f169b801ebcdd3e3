"""The commands of docs/image-layers.md put an image's layers where the hosts' containerd looks."""

import contextlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.machines.registries import registry_files
from controlplane.ports import free_port
from tests.components.object_cache.test_image_layers import LAYER, digest, with_layers
from tests.kit.repository import ROOT
from tests.kit.web import Handler, listening

DOCS = ROOT / "docs" / "image-layers.md"
CONFIGURATION = '{"architecture": "amd64"}'


class Web:
    """A fake registry and a fake cache on the loopback interface, each a table."""

    def __init__(self, content: dict[str, str]) -> None:
        self.content = content
        self.stored: dict[str, str] = {}
        self.tokens: set[str | None] = set()

    @contextlib.contextmanager
    def served(self) -> Iterator[str]:
        owner = self

        class Answers(Handler):
            def do_GET(self) -> None:
                text = owner.content.get(self.path)
                data = (text or "").encode()
                self.answer(404 if text is None else 200, data, {"Content-Length": str(len(data))})

            def do_PUT(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                owner.stored[self.path] = body.decode()
                owner.tokens.add(self.headers["Authorization"])
                self.answer(201, headers={"Content-Length": "0"})

        with listening(Answers, free_port()) as url:
            yield url


def filled(web: Web, folder: Path, reference: str) -> subprocess.CompletedProcess[str]:
    """Run the commands of the page for an image of a fake registry."""
    (script,) = re.findall(r"^```sh\n(.*?)^```", DOCS.read_text(), re.DOTALL | re.MULTILINE)
    (folder / "fill").write_text(script)
    (folder / "token").write_text("a-token")
    with web.served() as url:
        env = {"REGISTRY_URL": url, "CACHE": url, "TOKEN": str(folder / "token")}
        return subprocess.run(
            ["sh", folder / "fill", "docker.io", "library/ubuntu", reference, "layers"],
            env=os.environ | env, capture_output=True, text=True, check=False,
        )  # fmt: skip


def image(*blobs: str) -> dict[str, str]:
    """The content of an image in a registry, by its tag, an index: paths and texts."""
    text = json.dumps({"config": digest(blobs[0]), "layers": [digest(each) for each in blobs[1:]]})
    index = json.dumps({"manifests": [{"digest": digest(text)}]})
    return {
        "/v2/library/ubuntu/manifests/24.04": index,
        f"/v2/library/ubuntu/manifests/{digest(text)}": text,
        **{f"/v2/library/ubuntu/blobs/{digest(each)}": each for each in blobs},
    }


def test_the_commands_of_the_page_put_layers_where_hosts_look(tmp_path: Path) -> None:
    web = Web(image(CONFIGURATION, LAYER))
    done = filled(web, tmp_path, "24.04")
    assert done.returncode == 0, done.stderr
    folder = "/v1/objects/layers/docker.io/library/ubuntu/blobs"
    assert web.stored == {f"{folder}/{digest(each)}": each for each in (CONFIGURATION, LAYER)}
    assert web.tokens == {"Bearer a-token"}
    toml = registry_files(with_layers("docker.io"))["/etc/containerd/certs.d/docker.io/hosts.toml"]
    assert f'10.96.0.80{folder.removesuffix("/library/ubuntu/blobs")}"' in toml


@pytest.mark.parametrize("spoilt", ["a false layer", "no such tag", "a layer is missing"])
def test_the_commands_of_the_page_store_no_false_layer(tmp_path: Path, spoilt: str) -> None:
    content = image(CONFIGURATION, LAYER)
    path = f"/v2/library/ubuntu/blobs/{digest(LAYER)}"
    if spoilt == "a false layer":
        content[path] = "false"
    elif spoilt == "a layer is missing":
        del content[path]
    else:
        del content["/v2/library/ubuntu/manifests/24.04"]
    web = Web(content)
    assert filled(web, tmp_path, "24.04").returncode != 0
    assert LAYER not in web.stored.values()
    assert "false" not in web.stored.values()
