"""Rules on patches, as far as the site file shows; whether an object takes one is known once it is
made (components/making/patches.py)."""

import json
from collections.abc import Iterator
from posixpath import normpath

from pydantic import JsonValue

from schemas.facts.site import Site
from schemas.kubernetes.secret_scan import secret_names
from schemas.model.patches import PatchOperation
from schemas.reading.paths import each_at, leaves
from schemas.rules.finding import Finding, say
from schemas.rules.host_settings import MARKS, file_owner

_TEXTS = {"labels", "matchLabels", "annotations", "nodeSelector"}
"""Maps of texts: an API server refuses a number there, and so the whole object."""
LONGEST = 20_000
"""Characters of a value as JSON; longer texts are files (host_settings.files)."""


def patches(site: Site) -> Iterator[Finding]:
    """The values of patches fit their operations, hold no secret and mark no template."""
    for place, patch in each_at(site.file, "patches.*"):
        for index, operation in enumerate(patch.operations):
            at = (*place, "operations", index)
            if (operation.value is None) is not (operation.op == "remove"):
                row = "patch-value-unused" if operation.op == "remove" else "patch-value-missing"
                yield say(row, (*at, "op"), operation.op)
            size = len(json.dumps(operation.value))
            if size > LONGEST:
                yield say("patch-value-long", (*at, "value"), size, LONGEST)
            last = operation.path.rpartition("/")[2]
            for name, value in _other_than_texts(operation):
                yield say("patch-text", (*at, "value"), name, json.dumps(value))
            texts = [each for each in leaves(operation.value, (last,)) if isinstance(each[1], str)]
            for name in [name for _, text in texts for name in secret_names(text)][:1]:
                yield say("patch-secret", (*at, "value"), name)
            if patch.component != "machines":
                continue
            for mark in [mark for mark in MARKS if any(mark in text for _, text in texts)][:1]:
                yield say("patch-mark", (*at, "value"), mark, MARKS[mark])
            keys = [[step for step in path if isinstance(step, str)][-1] for path, _ in texts]
            paths = [text for key, (_, text) in zip(keys, texts, strict=True) if key == "path"]
            owned = [(text, file_owner(f"/{normpath(text).lstrip('/')}")) for text in paths]
            for path, owner in [each for each in owned if each[1]][:1]:
                yield say("patch-file", (*at, "value"), path, owner)


def _other_than_texts(operation: PatchOperation) -> Iterator[tuple[str, JsonValue]]:
    """The keys of labels and other maps of texts that an operation sets to something else."""
    if operation.op == "remove":
        return
    *above, last = operation.path.split("/")
    for path, value in leaves(operation.value, (*above, last)):
        if path[-2] in _TEXTS and not isinstance(value, str):
            yield str(path[-1]).replace("~1", "/"), value
