"""The schema for editors agrees with the model, and says what a person needs to know."""

import copy
import ipaddress
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jsonschema
import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from schemas.editor import FILE, main, schema_texts, site_schema
from schemas.load import site_names
from schemas.model.region import KEYS, is_required
from schemas.model.site_file import SiteFile
from schemas.reading.catalogue import hardware_catalogue, release_names
from schemas.reading.yaml_reader import read_yaml
from tests.kit.repository import FLEET, WRITTEN_OUT

FIELDS = site_schema()["properties"]
Path_ = tuple[str | int, ...]


def read(name: str) -> dict[str, Any]:
    document, problems = read_yaml((WRITTEN_OUT / f"{name}.yaml").read_bytes(), name)
    assert document is not None, problems
    assert isinstance(document.value, dict)
    return document.value


WHOLE = read("tokyo-1")


@pytest.fixture(scope="module")
def judge() -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(site_schema())


# The file


def test_the_committed_schema_is_what_the_model_and_the_catalogue_give() -> None:
    assert FILE.read_text("utf-8") == schema_texts()[FILE.name], "run python -m schemas.editor"
    assert main(["--check"]) == 0
    assert main(["--chekc"]) == 2


def test_a_schema_is_valid_and_refers_to_nothing_outside_itself(
    judge: jsonschema.Draft7Validator,
) -> None:
    judge.check_schema(judge.schema)
    assert not re.search(r'"\$(ref|id)"', schema_texts()[FILE.name])


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
    assert offered["enum"] == list(hardware_catalogue().entries)
    assert all(offered["enumDescriptions"])
    assert jsonschema.Draft7Validator(own).is_valid("a-profile-of-the-site")


# The schema against the model


@pytest.mark.parametrize("name", site_names(FLEET))
def test_the_sites_of_this_repository_are_valid(
    name: str, judge: jsonschema.Draft7Validator
) -> None:
    judge.validate(read(name))


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    """A site file that says nearly everything that one can say."""
    site = read("tokyo-1")
    profile = hardware_catalogue().entries["v100-sxm2-32gb-x8"].model_dump(mode="json")
    pool = {
        "os": "ubuntu-24.04",
        "labels": {"example.com/team": "vision"},
        "kubelet": {"eviction_hard": {"memory": "1Gi", "nodefs_percent": 5}, "max_pods": 60},
        "health_check": {"remedy": "replace", "node_startup_timeout_seconds": 7200},
        "first_boot": copy.deepcopy(site["first_boot"]),
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
    """True if it is a site file, in a region that says whatever one may."""
    try:
        SiteFile.model_validate(in_region(document))
    except ValidationError:
        return False
    return True


def in_region(document: Any) -> Any:
    if not isinstance(document, dict):
        return document
    said = {**document}
    for first, *rest in KEYS:
        if not rest:
            said |= {first: WHOLE[first]} if first in WHOLE.keys() - said.keys() else {}
        elif rest[0] in WHOLE[first]:
            section = said.get(first, {} if is_required((first, *rest)) else None)
            if isinstance(section, dict):
                said[first] = {rest[0]: WHOLE[first][rest[0]], **section}
    return said


# None is no wrong value everywhere; nor are some texts and numbers. What counts: equal verdicts.
VALUES: list[Any] = [
    None, True, -1, 0, 1, 59, 99, 100, 101, 65536, 10**9, 0.5, "", "-", "Aa_", "a" * 64, "10Gi",
    "10.1.2.3", "10.1.2.3/16", "10.1.0.0/16", "10.16.0.256", "v1.34", "http://a:b@c", [], {},
    ["a"] * 200, [{}], {"x": 1}, {"Ä": "b"},
]  # fmt: skip


def test_schema_and_model_agree_on_every_changed_value(
    whole: dict[str, Any], part_of: Callable[[Sequence[Path_], int], Sequence[Path_]]
) -> None:
    judge = jsonschema_rs.Draft7Validator(site_schema())
    assert accepted(whole)
    assert judge.is_valid(whole)
    paths = [path for path in places(whole) if path and path != ("release",)]
    disagreements = [
        (path, value)
        for path in part_of(paths, 5)
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
        (("release",), ...),
        (("scheduling", "priorities"), "No Name"),
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
