"""The additions to a pod that uses the cache: the token, and where PFIO and the program look."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.making.manifest import Json
from components.making.object_cache_client import (
    FOLDER,
    TOKEN_VARIABLE,
    URL_VARIABLE,
    VOLUME,
    CacheClient,
    cache_client,
    with_cache,
)
from schemas.kubernetes.objects import check_object
from tests.kit.training_site import gangs

CLIENT = CacheClient("http://cache.cache-service.svc/v1/objects/vision/", "cache", 3600)
OTHER: Json = {"name": VOLUME, "emptyDir": {}}


def box(name: str = "main", **more: Any) -> Json:
    return {"name": name, "image": "registry.example/train:1", **more}


def pod(spec: Json) -> Json:
    """The spec as a pod whose strict schema is that of the API server's version."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "b"},
        "spec": spec,
    }


def token_files(spec: Json, container: Json) -> list[str]:
    """The paths at which a container finds tokens for the cache, as a kubelet would mount them."""
    sources = {
        each["name"]: each["projected"]["sources"][0]["serviceAccountToken"]
        for each in spec["volumes"]
        if "projected" in each
    }
    return [
        f"{mount['mountPath']}/{sources[mount['name']]['path']}"
        for mount in container["volumeMounts"]
        if mount["name"] in sources and mount["readOnly"] is True
    ]


def environment(container: Json) -> dict[str, str]:
    return {each["name"]: each["value"] for each in container["env"]}


def test_every_container_finds_the_token_where_pfio_looks_for_it() -> None:
    spec = with_cache({"containers": [box("a"), box("b")]}, CLIENT)
    assert check_object(pod(spec)) == []
    for container in spec["containers"]:
        said = environment(container)
        assert said[URL_VARIABLE] == CLIENT.url
        assert token_files(spec, container) == [said["PFIO_HTTP_BEARER_TOKEN_PATH"]]
    (volume,) = spec["volumes"]
    (source,) = volume["projected"]["sources"]
    token = source["serviceAccountToken"]
    assert (token["audience"], token["expirationSeconds"]) == ("cache", 3600)


def test_a_site_s_cache_says_audience_time_and_place() -> None:
    cache = gangs().file.cache
    assert cache is not None
    assert cache_client(cache, "pictures") == CacheClient(
        "http://cache.caches.svc/v1/objects/pictures/", "objects", 7200
    )


names = st.sampled_from([VOLUME, f"{VOLUME}-2", "data", URL_VARIABLE, TOKEN_VARIABLE])


@st.composite
def specs(draw: st.DrawFn) -> Json:
    """Pods that have volumes, mounts and variables of their own, some with our names."""
    volumes = draw(st.lists(names, unique=True, max_size=4))
    boxes = [
        box(
            f"c{number}",
            env=[
                {"name": name, "value": "mine"}
                for name in draw(st.lists(names, unique=True, max_size=3))
            ],
            volumeMounts=[
                {"name": name, "mountPath": f"/mnt/{name}"}
                for name in draw(st.lists(names, unique=True))
                if name in volumes
            ],
        )
        for number in range(draw(st.integers(1, 3)))
    ]
    spec: Json = {"containers": boxes}
    listed = draw(st.booleans())
    if volumes or listed:
        spec["volumes"] = [{"name": name, "emptyDir": {}} for name in volumes]
    return spec


@given(specs())
def test_nothing_clashes_nothing_is_lost_and_twice_is_as_good_as_once(spec: Json) -> None:
    before = copy.deepcopy(spec)
    made = with_cache(spec, CLIENT)
    assert spec == before
    assert with_cache(made, CLIENT) == made
    volumes = [each["name"] for each in made["volumes"]]
    assert len(set(volumes)) == len(volumes) == len(spec.get("volumes", [])) + 1
    assert made["volumes"][:-1] == spec.get("volumes", [])
    for old, new in zip(spec["containers"], made["containers"], strict=True):
        variables = [each["name"] for each in new["env"]]
        assert len(set(variables)) == len(variables)
        assert {URL_VARIABLE, TOKEN_VARIABLE} <= set(variables)
        assert new["env"][: len(old["env"])] == old["env"]
        assert new["volumeMounts"][:-1] == old["volumeMounts"]
        assert len(token_files(made, new)) == 1


def test_another_volume_at_the_token_s_place_is_refused() -> None:
    taken = box(volumeMounts=[{"name": VOLUME, "mountPath": f"{FOLDER}/"}])
    with pytest.raises(ValueError, match=f"container main has volume {VOLUME} at {FOLDER}"):
        with_cache({"containers": [taken], "volumes": [OTHER]}, CLIENT)


def test_the_audience_of_another_cache_is_another_token() -> None:
    first = with_cache({"containers": [box()]}, CLIENT)
    with pytest.raises(ValueError, match=FOLDER):
        with_cache(first, CLIENT._replace(audience="other"))
