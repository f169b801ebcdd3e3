"""``foresite init``: a repository of one's own with data alone, for an installed Foresite. All of
it is written beside its place first, so a folder has a whole repository or what it had."""

import argparse
import json
import os
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from foresite import PARTS
from foresite.command import OK, UsageError, few, print_report, version
from foresite.scratch import clear, put, scratch
from schemas.kubernetes.masking import shorten
from schemas.kubernetes.tables import read_table

_TABLE: dict[str, Any] = read_table(__file__)
_WHEELS = "wheels"
_TEMPLATES = Path(__file__).parent.parent / "templates"


def run(options: argparse.Namespace) -> int:
    """Write the repository, or nothing."""
    if options.root is not None:
        raise UsageError("init makes a repository and works on none: leave --root out")
    folder = _check(options.dir)
    texts = dict(sorted(_files(forge=options.forge, example=options.example)))
    _write(folder, texts)
    _report(options, folder, list(texts))
    return OK


def _check(given: Path) -> Path:
    """The folder, where a repository can be made in it. Raises UsageError."""
    folder, shown = Path(os.path.abspath(given)), shorten(str(given), 300)  # noqa: PTH100 no link
    if not str(given).isprintable():
        raise UsageError(f"{shown!r} has characters that no terminal shows; choose another name")
    if folder.is_symlink():
        raise UsageError(f"{shown} is a link: name the folder itself")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{shown} is a file: name a new folder, or an empty one")
    if not folder.parent.is_dir():
        raise UsageError(f"there is no folder {shorten(str(folder.parent), 300)}: make it first")
    for above in folder.resolve().parents:
        if (above / ".git").exists():
            said = f"{shown} lies in the repository {above}, where no forge reads its workflows"
            raise UsageError(f"{said} and CODEOWNERS: name a folder outside of it")
    if folder.exists():
        clear(folder / "init")  # what a killed run left
        if there := sorted(each.name for each in folder.iterdir() if each.name != ".git"):
            said = f"{shown} is not empty: it has {shorten(few(there, 3), 300)}"
            raise UsageError(f"{said}; name a new folder, or one that has nothing but .git")
    return folder


def _files(*, forge: str, example: bool) -> Iterator[tuple[str, bytes]]:
    """The files of a repository, by path."""
    pairs = ", ".join(f"{key} = {json.dumps(value)}" for key, value in _source().items())
    source = f"\n[tool.uv.sources]\nforesite = {{ {pairs} }}\n" if pairs else ""
    own = _TABLE["forges"][forge]
    for path, name in {**_TABLE["templates"], **own["templates"]}.items():
        text = (_TEMPLATES / name).read_text("utf-8")
        filled = text.replace("@VERSION@", version()).replace("@SOURCE@\n", source)
        yield path, _adapt(path, filled, own["replaced"]).encode()
    if (file := _archive()) is not None:
        yield f"{_WHEELS}/{file.name}", file.read_bytes()
    flows = _TABLE["workflows"]
    for name in flows["same"] if own["workflows"] else ():
        path = f".github/workflows/{name}.yml"
        text = (PARTS / path).read_text("utf-8")
        for each in flows["replaced"]:
            text = text.replace(each["old"], each["new"]) if each["name"] == name else text
        yield path, _adapt(path, text, own["replaced"]).encode()
    if example:
        folders = [PARTS / name for name in ("management", "regions", "sites")]
        for file in (each for folder in folders for each in folder.rglob("*")):
            if file.is_file() and file.suffix != ".md":
                yield str(file.relative_to(PARTS)), file.read_bytes()


def _adapt(path: str, text: str, tables: list[str]) -> str:
    """A workflow with what a forge has otherwise; any other file as it is."""
    for table in tables if path.startswith(".github/workflows/") else ():
        for each in _TABLE[table]:
            text = text.replace(each["old"], each["new"])
    return text


def _origin() -> dict[str, Any]:
    """Where this version was installed from (PEP 610); empty if from an index."""
    said = json.loads(distribution("foresite").read_text("direct_url.json") or "{}")
    return said if isinstance(said, dict) else {}


def _source() -> dict[str, str]:
    """Where uv finds this version, of a place that others can reach; empty if the index has it."""
    said = _origin()
    url, revision = str(said.get("url", "")), said.get("vcs_info", {}).get("commit_id")
    if (file := _archive()) is not None:
        return {"path": f"{_WHEELS}/{file.name}"}
    if not url.startswith("https://") or "@" in url or "dir_info" in said:
        return {}
    return {"git": url, "rev": revision} if revision else {"url": url}


def _archive() -> Path | None:
    """The file that this version was installed from; None if there is none any more."""
    said = _origin()
    address = urlsplit(str(said.get("url", "")))
    path = Path(unquote(address.path))
    ours = "archive_info" in said and path.name.startswith(f"foresite-{version()}")
    return path if ours and address.scheme == "file" and path.is_file() else None


def _write(folder: Path, texts: dict[str, bytes]) -> None:
    """Write all files or none."""
    there = folder.exists()
    with scratch(folder / "init" if there else folder) as fresh:
        for path, data in texts.items():
            (fresh / path).parent.mkdir(parents=True, exist_ok=True)
            (fresh / path).write_bytes(data)
        if not there:
            put(fresh, folder)
            return
        moved: list[Path] = []
        try:
            for each in sorted(fresh.iterdir()):
                moved.append(folder / each.name)
                each.rename(moved[-1])
        except BaseException:
            for each in filter(Path.exists, moved):
                each.rename(fresh / each.name)
            raise


def _report(options: argparse.Namespace, folder: Path, files: list[str]) -> None:
    text = _TABLE["next"].format(version=version(), folder=options.dir)
    if (source := _source()).get("path") or (_origin() and not source):
        more = _TABLE["from_file" if source else "from_nowhere"]
        text += more.format(version=version(), **source)
    lines = [*(f"written: {name}" for name in files), text.removesuffix("\n")]
    print_report(options.format, {"folder": str(folder), "files": files}, lines, folded=False)
