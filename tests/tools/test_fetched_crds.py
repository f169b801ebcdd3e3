"""CRDs that are taken from clones: only the pinned file is, and what is stored of it stays."""

import hashlib
import json
import subprocess
from pathlib import Path

import pytest
import yaml

from tools import fetched, kinds
from tools.crds import make_whole
from tools.kinds import SourceError

NAME, PATH = "things.example.org", "config/things.yaml"
FIELDS = {"size": {"type": "integer", "minimum": 1, "description": "How large it is."}}
SPEC = {
    "group": "example.org",
    "names": {"kind": "Thing", "plural": "things"},
    "scope": "Cluster",
    "versions": [
        {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": FIELDS}},
        }
    ],
}
Source = dict[str, str]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with a CRD in its first commit, and another one in its second."""
    folder = tmp_path / "clone"
    (folder / "config").mkdir(parents=True)
    _git(folder, "init", "--quiet")
    for text in (yaml.safe_dump({"spec": SPEC}), "spec: {}\n"):
        (folder / PATH).write_text(text)
        _git(folder, "add", ".")
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        _git(folder, *identity, "commit", "--quiet", "--message=a")
    return folder


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def source(clone: Path, **changed: str) -> Source:
    """Where the CRD is in the first commit."""
    digest = hashlib.sha256(yaml.safe_dump({"spec": SPEC}).encode()).hexdigest()
    commit = _git(clone, "rev-list", "--max-parents=0", "HEAD").strip()
    pinned = {"source": "a/b", "tag": "main", "commit": commit, "path": PATH, "sha256": digest}
    return {**pinned, **changed}


def test_the_file_of_the_pinned_commit_is_taken_without_texts(clone: Path, tmp_path: Path) -> None:
    found = fetched.fetch_stored(NAME, source(clone), [str(tmp_path), str(clone)])
    assert found["source"] == source(clone)
    assert (found["group"], found["scope"]) == ("example.org", "Cluster")
    (version,) = found["versions"]
    field = version["schema"]["openAPIV3Schema"]["properties"]["size"]
    assert field == {"type": "integer", "minimum": 1}


def test_another_file_is_refused(clone: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="sha256"):
        fetched.fetch_stored(NAME, source(clone, sha256="0" * 64), [str(clone)])
    with pytest.raises(SourceError, match=r"no clone of a/b"):
        fetched.fetch_stored(NAME, source(clone), [str(tmp_path)])


def test_what_is_stored_stays_only_while_it_is_what_is_pinned(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned = source(clone)
    monkeypatch.setattr(kinds, "FETCHED", {NAME: pinned})
    with pytest.raises(SourceError, match=r"run tools\.fetched"):
        kinds.stored_documents(tmp_path, make_whole)
    whole = fetched.fetch_stored(NAME, pinned, [str(clone)])
    short = json.loads(json.dumps(whole))
    place = short["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    repeated, place["size"] = {"abc": place["size"]}, {"$ref": "abc"}
    (tmp_path / "crds").mkdir()
    (tmp_path / f"crds/{NAME}.json").write_text(json.dumps(short))
    (tmp_path / "repeated.json").write_text(json.dumps(repeated))
    assert kinds.stored_documents(tmp_path, make_whole) == {f"crds/{NAME}.json": whole}
    monkeypatch.setattr(kinds, "FETCHED", {NAME: {**pinned, "commit": "0"}})
    with pytest.raises(SourceError, match="not what"):
        kinds.stored_documents(tmp_path, make_whole)
