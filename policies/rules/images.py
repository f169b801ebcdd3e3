"""Programs that run are the reviewed ones: container images by digest and registry, images of
operating systems by checksum, in every kind of object."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from policies.embedded import embedded_objects, format_path
from policies.memo import may_have, memoize
from policies.messages import say
from policies.rule import Found, Json, Object
from schemas.kubernetes.bodies import nodes

DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")
HEXADECIMAL = {"sha256": 64, "sha512": 128}
"""Digits of a checksum, of the kinds that nobody forges."""


class Image(NamedTuple):
    """An image of containers that an object names, and where."""

    path: str
    reference: str

    @property
    def registry(self) -> str:
        """The host that it is pulled from; empty where the reference leaves it to the runtime, by
        the rule of container runtimes: a host has a dot or a port, or is localhost."""
        first, slash, _ = self.reference.partition("/")
        return first if slash and (set(first) & {".", ":"} or first == "localhost") else ""

    @property
    def tag(self) -> str:
        """Its tag; empty where it has none."""
        name = self.reference.partition("@")[0].rpartition("/")[2]
        return name.partition(":")[2]


def images(each: Object) -> Iterator[Image]:
    """Every image of containers in an object and in those that are text in it: wherever a map has
    an ``image``, in any kind, and with ``repository`` and ``version`` where these are apart."""
    for path, value in _with_image(each.body):
        image = value["image"]
        if isinstance(image, str) and image:
            yield Image(f"{path}image", _whole(value, image))
        elif isinstance(image, dict) and isinstance(image.get("reference"), str):
            yield Image(f"{path}image.reference", image["reference"])


@memoize
def _with_image(body: Json) -> tuple[tuple[str, Json], ...]:
    """Every map that has an ``image``, with its place and a dot."""
    own = (("", body),) if may_have(body, "image") else ()
    bodies = (*own, *((f"{place}.", each) for place, each in embedded_objects(body)))
    return tuple(
        (f"{place}{format_path(path)}.".lstrip("."), value)
        for place, body in bodies
        for path, value in nodes(body)
        if isinstance(value, dict) and "image" in value and path[:1] != ("metadata",)
    )


def _whole(value: Json, image: str) -> str:
    """The reference that an operator makes of its parts (NVIDIA gpu-operator, internal/image)."""
    repository, version = value.get("repository"), value.get("version")
    name = f"{repository}/{image}" if isinstance(repository, str) and repository else image
    if not isinstance(version, str) or not version:
        return name
    return f"{name}{'@' if version.startswith('sha256:') else ':'}{version}"


def _image_digest(each: Object) -> Iterator[Found]:
    for image in images(each):
        if not DIGEST.search(image.reference):
            yield say("image-digest", image.path, image.reference)


def _image_version(each: Object) -> Iterator[Found]:
    for image in images(each):
        untagged = not image.tag and "@" not in image.reference
        if image.tag == "latest" or untagged:
            yield Found(image.path, f"{image.reference} says no version")


def _image_registry(each: Object) -> Iterator[Found]:
    for image in images(each):
        if not image.registry:
            yield say("image-registry", image.path, image.reference)


def _os_image_checksum(each: Object) -> Iterator[Found]:
    for path, value in _with_image(each.body):
        image = value["image"]
        # A live image is started anew each time, and Ironic takes no checksum of it.
        if isinstance(image, dict) and "url" in image and image.get("diskFormat") != "live-iso":
            yield from _checksum(image, f"{path}image")


def _checksum(image: Json, path: str) -> Iterator[Found]:
    kind = str(image.get("checksumType") or "")
    checksum = str(image.get("checksum") or "")
    if kind not in HEXADECIMAL:
        what = f"is by {kind}" if kind else "has no checksum of a named kind"
        yield Found(f"{path}.checksumType", f"the image {image['url']} {what}")
    elif not re.fullmatch(rf"[0-9a-f]{{{HEXADECIMAL[kind]}}}", checksum):
        what = "comes with a checksum that is fetched, or is none"
        yield Found(f"{path}.checksum", f"the image {image['url']} {what}")
