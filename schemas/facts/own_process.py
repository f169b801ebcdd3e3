"""The process that makes the objects of a component of one's own: a question and an answer as JSON
on stdout; what the component prints goes nowhere."""

import itertools
import json
import os
import sys
from pathlib import Path
from typing import Any

from schemas.facts.own_components import MAX_BYTES, MAX_OBJECTS
from schemas.model.component_contract import Component, SiteView
from schemas.model.own_components import INSTALLED, describe

_REFUSED = ("socket.", "subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn")
_READS = ("open", "os.listdir", "os.scandir")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def main() -> None:
    """Answer the question on stdin."""
    asked = json.load(sys.stdin)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.dont_write_bytecode = True
    sys.addaudithook(_refuse)
    try:
        known = INSTALLED.get(asked["name"])
        if known is None or known.component is None:
            raise LookupError("it is not installed where its objects are made")
        answer = {"text": _text(known.component, asked["view"], asked["settings"])}
    except BaseException as error:  # noqa: BLE001  whatever the component does
        ends = isinstance(error, SystemExit)
        answer = {"failed": "it ends the program" if ends else describe(error)}
    json.dump(answer, answers)
    answers.flush()
    os._exit(0)


def _text(component: Component, view: str, settings: str) -> str:
    site = SiteView.model_validate_json(view)
    found = component.objects(site, component.settings.model_validate_json(settings))
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    head = {"apiVersion": "v1", "kind": "Namespace"}
    spaces = component.namespaces
    namespaces = ({**head, "metadata": {"name": each, "labels": labels}} for each in spaces)
    parts, size = [path.read_text("utf-8") for path in component.crds], 0
    for number, each in enumerate(itertools.chain(namespaces, found)):
        if not isinstance(each, dict):
            raise TypeError(f"it makes {type(each).__name__}, which is no object as a dict")
        parts.append(json.dumps(each, indent=1, allow_nan=False))
        size += len(parts[-1])
        if number >= MAX_OBJECTS or size > MAX_BYTES:
            raise ValueError(f"it makes more than {MAX_OBJECTS} objects, or {MAX_BYTES} bytes")
    return "\n---\n".join(parts) + "\n"


def _is_data(path: object, event: str) -> bool:
    """True for a file or a folder of sites, regions or catalogues, which no package owns."""
    try:
        found = os.path.realpath(os.fsdecode(path))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    packages = [os.path.realpath(each) for each in sys.path]
    if any(found.startswith(f"{each}{os.sep}") for each in packages):
        return False
    parts = Path(found).parts[: -1 if event == "open" else None]
    return not {"sites", "regions", "catalogue"}.isdisjoint(parts)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """Keep a component from what other runs and other machines would answer differently."""
    if event.startswith(_REFUSED):
        why = f"a component may not do this ({event}): its objects come of the site"
        raise PermissionError(why)
    if event in _READS and _is_data(arguments[0], event):
        raise PermissionError("a component may not read files of sites: the preview would not know")
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITES:
        raise PermissionError("a component may not write files")


if __name__ == "__main__":
    main()
