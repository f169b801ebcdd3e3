"""``foresite new``: a site like one that exists, with marks for what only a person can write. By
ruamel.yaml, which keeps the comments and the layout of the other site's file."""

import argparse
import io
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from foresite import PARTS
from foresite.command import OK, UsageError, print_report, repository
from schemas.kubernetes.masking import shorten
from schemas.kubernetes.tables import read_table
from schemas.load import load_site, site_names
from schemas.model.codes import Code
from schemas.model.primitives import SiteName
from schemas.model.site_file import SiteFile
from schemas.reading.document import Document
from schemas.reading.host_list import COLUMNS
from schemas.reading.typed_document import TODO
from schemas.reading.wording import description, schema_at

_TABLE = read_table(__file__)
OWN = tuple(tuple(path.split(".")) for path in _TABLE["own"])
"""Fields that differ between any two sites, so that only a person can fill them."""

_DROP = "FORESITE-DROPS-THIS"
_ENTRY = rf"\w+: ['\"]?{_DROP}['\"]?"
_DROPPED = re.compile(rf"(?m)^ *{_ENTRY}.*\n|, {_ENTRY}|{_ENTRY}, ")
"""An entry that goes is taken out of the text: ruamel.yaml would take the comments below along."""


def run(options: argparse.Namespace) -> int:
    """Write the two files of the new site, or nothing."""
    root = repository(options)
    site, other, known = options.site, options.like, site_names(root)
    demand_new(site, known)
    examples = [each for each in site_names(PARTS) if each not in known]
    if other not in (*known, *examples):
        listed = f"{', '.join(known) or 'none'}; examples: {', '.join(examples) or 'none'}"
        raise UsageError(f"there is no site {shorten(other)}; known: {listed}")
    home = root if other in known else PARTS
    loaded = load_site(home, other)
    if any(each.code is not Code.TODO_LEFT for each in loaded.problems):
        raise UsageError(f"site {other} has problems of its own; see foresite check {other}")
    header = ",".join(COLUMNS) + "\n"
    like = (home / "sites" / f"{other}.yaml").read_text(encoding="utf-8")
    text = _marked(like, site, loaded.document)
    texts = {f"sites/{site}.hosts.csv": header, f"sites/{site}.yaml": text}
    if home != root and loaded.site is not None:  # the files that an example names come along
        region = f"regions/{loaded.site.file.region}.yaml"
        named = [region, *(f"sites/{k}" for k in loaded.site.texts if not k.endswith(".pem"))]
        brought = (each for each in named if (home / each).exists() and not (root / each).exists())
        texts |= {each: (home / each).read_text("utf-8") for each in brought}
        if region in texts:
            texts[region] = _marked(texts[region])
    write_all(root, texts)
    _report(options, sorted(texts), root, site)
    return OK


def demand_new(site: str, known: Collection[str]) -> None:
    """Raise UsageError where a site cannot be called so."""
    pattern = SiteName.__metadata__[0].metadata[0].pattern  # type: ignore[attr-defined]
    if not re.fullmatch(pattern, site):
        raise UsageError(
            f"{shorten(site)!r} is no name for a site: 3 to 40 lower-case letters, digits and "
            "dashes, starting with a letter, such as osaka-1"
        )
    if site in known:
        raise UsageError(f"there is a site {site} already; choose another name")


def _marked(text: str, site: str = "", document: Document | None = None) -> str:
    """The text of a site's file, or of a region's, without what is another site's own."""
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    yaml.indent(mapping=2, sequence=4, offset=2)
    # By itself ruamel writes nothing for null, which a reader takes for something forgotten.
    tag = "tag:yaml.org,2002:null"
    yaml.representer.add_representer(type(None), lambda to, _: to.represent_scalar(tag, "null"))
    data = yaml.load(text)
    if site:
        data["site"] = site
    for had in (data, *data.get("pools", ())):
        for key in {"decommission", "adopted"} & had.keys():
            had[key] = _DROP  # a new site does not end, and nothing was before it
    schema = SiteFile.model_json_schema()
    for path in OWN:
        section, *field = path[:2]
        if document is not None and path[:2] in document.replaced:  # the region says one
            (data[section] if field else data)[path[:2][-1]] = _DROP
        _mark(data, path, (), schema)
    for section, value in data.items():
        if isinstance(value, dict) and value and set(map(str, value.values())) == {_DROP}:
            data[section] = _DROP
    stream = io.StringIO()
    yaml.dump(data, stream)
    return _DROPPED.sub("", stream.getvalue())


def _mark(data: Any, path: tuple[str | int, ...], done: tuple[str | int, ...], schema: Any) -> None:
    """Put the mark at ``path`` (``*``: each item), where the other site says something."""
    step, rest = path[0], path[1:]
    if step == "*":
        several = data if isinstance(data, dict) else dict(enumerate(data or ()))
        for each in several if not isinstance(data, str) else ():
            _mark(data, (each, *rest), done, schema)
    elif isinstance(data, list) and isinstance(step, int) and rest:
        _mark(data[step], rest, (*done, step), schema)
    elif isinstance(data, dict) and step in data:
        if rest:
            _mark(data[step], rest, (*done, step), schema)
        elif step == "context" or data[step] == _DROP:
            data[step] = _DROP  # the new cluster does not exist yet
        else:
            note = f"{TODO}: {_note(schema, (*done, step))}"
            if isinstance(data[step], list):
                data[step][:] = [note]  # in place, so that the list keeps its layout
            else:
                data[step] = note


def _note(schema: Any, path: tuple[str | int, ...]) -> str:
    text = description(schema_at(schema, path)) or "write the real value"
    sentence = re.split(r"[.;:]", text)[0]
    return sentence[:1].lower() + sentence[1:]


def write_all(folder: Path, texts: dict[str, str]) -> None:
    """Write all files or none; ``x`` refuses to overwrite what came up meanwhile."""
    written: list[Path] = []
    try:
        for name, text in texts.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            with open(folder / name, "x", encoding="utf-8", newline="\n") as file:
                written.append(folder / name)
                file.write(text)
    except BaseException:
        for path in written:
            path.unlink(missing_ok=True)
        raise


def _report(options: argparse.Namespace, files: list[str], root: Path, site: str) -> None:
    left = load_site(root, site).problems
    lines = [f"written: {name}" for name in files]
    lines += ["\nvalues to write before `foresite check` passes:"]
    lines += [f"  {e.file}:{e.line}:{e.column}: {e.path or e.message}" for e in left]
    data = {"files": files, "to_write": [each.as_dict() for each in left]}
    print_report(options.format, data, lines, folded=False)
