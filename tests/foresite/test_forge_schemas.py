"""What the fake of a forge takes and gives, against the forge's own description of its API.

Nothing of these descriptions is in the repository: they are looked for in the folder ``forges`` of
``FORESITE_UPSTREAM``, as ``npm pack @octokit/openapi`` has them.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.kit.fake_forge import FACTS

FOLDER = Path(os.environ.get("FORESITE_UPSTREAM", "/nowhere")) / "forges"
OURS = FACTS["github"]


def resolved(whole: dict[str, Any], part: Any) -> dict[str, Any]:
    while "$ref" in part:
        found: Any = whole
        for step in part["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        part = found
    return dict(part)


def field(whole: dict[str, Any], schema: Any, steps: list[str]) -> tuple[set[str], bool]:
    """The types of a field, and whether an answer always has it."""
    schema = resolved(whole, schema)
    if not steps:
        kinds = schema.get("type", [])
        return {kinds} if isinstance(kinds, str) else set(kinds), not schema.get("nullable", False)
    either = [resolved(whole, each) for each in schema.get("anyOf", schema.get("allOf", [schema]))]
    null = bool(schema.get("nullable")) or any(each.get("type") == "null" for each in either)
    (holder,) = (each for each in either if "properties" in each)
    kinds, always = field(whole, holder["properties"][steps[0]], steps[1:])
    sure = steps[0] in holder.get("required", ()) and not null and not holder.get("nullable")
    return kinds, always and sure


@pytest.mark.parametrize("name", ["api.github.com", "ghes-3.17", "ghes-3.19"])
def test_githubs_descriptions_say_what_the_fake_does(name: str) -> None:
    file = FOLDER / f"{name}.json"
    if not file.is_file():
        pytest.skip(f"{file} is not there: npm pack @octokit/openapi has it")
    whole = json.loads(file.read_text("utf-8"))
    paths = {re.sub(r"{\w+}", "{}", path): each for path, each in whole["paths"].items()}
    for call, facts in OURS["calls"].items():
        method, _, path = call.partition(" ")
        said = paths[path][method.lower()]
        named = [resolved(whole, each) for each in said.get("parameters", ())]
        assert set(facts.get("query", ())) <= {p["name"] for p in named if p["in"] == "query"}, call
        if facts.get("body"):
            body = resolved(whole, said["requestBody"]["content"]["application/json"]["schema"])
            assert set(facts["body"]) == set(body["properties"]), call
        answer = said["responses"][str(facts.get("status", 200))]
        schema = resolved(whole, resolved(whole, answer)["content"]["application/json"]["schema"])
        many = isinstance(facts["gives"], list)
        assert many == (schema.get("type") == "array"), call
        for at, kind in OURS["gives"]["".join(facts["gives"])].items():
            kinds, always = field(whole, schema["items"] if many else schema, at.split("."))
            assert kind.rstrip("?") in kinds, (call, at)
            assert always or kind.endswith("?"), (call, at)
