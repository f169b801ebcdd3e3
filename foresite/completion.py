"""What a shell offers for an argument: sites, paths of explain, templates of jobs, files.
argcomplete speaks with the shell, and runs the command line up to the word at the cursor."""

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import argcomplete
from argcomplete.completers import FilesCompleter

from components.training.request import Template
from foresite.command import UsageError, repository
from schemas.facts.site import Site
from schemas.load import load_site, site_names
from schemas.model.primitives import Model
from schemas.model.site_file import Pool
from schemas.reading.host_list import COLUMNS
from schemas.reading.yaml_reader import Document
from schemas.resolve import COMPUTED, resolve


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer the shell that asks, and end."""
    argcomplete.autocomplete(
        parser,
        always_complete_options=False,
        default_completer=_complete,  # type: ignore[arg-type]
    )


def _complete(
    prefix: str, action: argparse.Action, parsed_args: argparse.Namespace, **_: Any
) -> Iterable[str]:
    what = getattr(action, "complete", None)
    if what is None:
        # Other words (a team, an image, a commit) are not to be taken for files.
        return FilesCompleter()(prefix) if action.metavar in ("FILE", "DIR") else ()
    if what == "templates":
        return [each.value for each in Template]
    try:
        root = repository(parsed_args)
        found = (
            site_names(root) if what == "sites" else list(_paths(root, parsed_args.site, prefix))
        )
    except UsageError:
        return ()
    return [each for each in found if each.isprintable()]


def _paths(root: Path, site: str, prefix: str) -> Iterator[str]:
    loaded = load_site(root, site)
    if loaded.site is None or loaded.document is None:
        return
    mark = "[" if prefix.rfind("[") > prefix.rfind("]") else "."
    before = prefix.rpartition(mark)[0]
    for name, value in _steps(loaded.site, loaded.document, before):
        path = before + name if name.startswith("[") else f"{before}.{name}".removeprefix(".")
        yield path
        if isinstance(value, Model | dict | list):
            yield f"{path}."  # of two that begin alike a shell completes what they share


def _steps(site: Site, document: Document, path: str) -> Iterable[tuple[str, Any]]:
    """The steps that may follow a path (empty: the site), and what they lead to."""
    hosts = {host.name: dict.fromkeys(COLUMNS) for host in site.hosts}
    if path.partition(".")[0] == "hosts":
        return hosts.get(path.removeprefix("hosts."), hosts).items()
    value: Any = resolve(site, document, "", path).value if path else site.file
    if isinstance(value, str):
        value = {**site.hardware, site.file.release: site.release}.get(value)
    if isinstance(value, list):
        return [(getattr(each, "name", f"[{at}]"), each) for at, each in enumerate(value)]
    if isinstance(value, dict):
        return [(f"[{key}]" if "." in key else key, each) for key, each in value.items()]
    more: dict[str, Any] = {"hosts": hosts} if value is site.file else {}
    more |= dict.fromkeys(COMPUTED) if isinstance(value, Pool) else {}
    return [*value, *more.items()] if isinstance(value, Model) else []
