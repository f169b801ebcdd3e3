"""Named primitives: one name for each kind of value that a site file, a profile or a release holds.
Each has a pattern that an editor checks while a person types, and an example that an error shows.
What a pattern cannot say (host bits in a network) is said by a validator with a code of its own."""

import ast
import functools
import inspect
import ipaddress
import itertools
import textwrap
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError

from schemas.kubernetes.forms import DIGEST, IPV4, QUALIFIED, REGISTRY, REPOSITORY, SUBDOMAIN, TAG
from schemas.model.texts import Words, words

IPV4_PATTERN = rf"^{IPV4}$"
LONGEST_SUBDOMAIN = 253
_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
DNS_LABEL_PATTERN = rf"^{_LABEL}$"
_FILE_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_IMAGE, _AN_IMAGE = f"{REGISTRY}/{REPOSITORY}", "registry.example/project/image"


class Model(BaseModel):
    """The base of all typed data: strict (no coercion), frozen, and an unknown key is an error.
    What a field is for stands in the docstring under it, and goes into the JSON Schema."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", defer_build=True)
    made_of: ClassVar[Any]
    """The model that this one has fields of, or the texts of its fields, if it has no source."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for name, text in field_docs(cls).items():
            if name in properties:
                properties[name]["description"] = text
        return schema


@functools.cache
def field_docs(model: type[Model]) -> dict[str, str]:
    """The docstring under each field of a model, inherited ones included; read when asked for, as
    pydantic's ``use_attribute_docstrings`` takes a third of the time of a check at import."""
    found: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if issubclass(each, Model) and "made_of" in vars(each):
            made_of = each.made_of
            docs = made_of if isinstance(made_of, dict) else field_docs(made_of)
            found |= {name: docs[name] for name in each.model_fields}
        elif issubclass(each, Model) and each is not Model:
            found |= docs_below(each)
    return found


def docs_below(of: type) -> dict[str, str]:
    """The docstring below each field of a class, or each member of an enum, by its name."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(of))).body
    found = {}
    for named, below in itertools.pairwise(node.body if isinstance(node, ast.ClassDef) else []):
        targets = named.targets if isinstance(named, ast.Assign) else [getattr(named, "target", 0)]
        text = getattr(getattr(below, "value", None), "value", None)
        if isinstance(targets[0], ast.Name) and isinstance(text, str):
            found[targets[0].id] = inspect.cleandoc(text)
    return found


def plain(text: str) -> str:
    """A docstring for a terminal or an editor: one line, without the marks of its markup."""
    return " ".join(text.replace("``", "'").split())


def text_form(pattern: str, *examples: str, longest: int = 0) -> Any:
    """A text that fits a pattern as a whole, such as the examples."""
    return Field(pattern=f"^{pattern}$", examples=[*examples] or None, max_length=longest or None)


def fault(said: Words) -> PydanticCustomError:
    """An error that a validator raises."""
    context = {"message": said.message, "fix": said.fix}
    return PydanticCustomError(said.code.value, "{message}", context)


def _canonical(value: str) -> str:
    network = ipaddress.ip_network(value, strict=False)
    if str(network) != value:
        raise fault(words("network-not-canonical", value, network))
    return value


def _short_prefix(value: str) -> str:
    prefix = value.rpartition("/")[0]
    if len(prefix) > LONGEST_SUBDOMAIN:
        raise fault(words("label-prefix-too-long", len(prefix), LONGEST_SUBDOMAIN))
    return value


OsName = Annotated[str, text_form("[a-z0-9]([-a-z0-9.]{0,40}[a-z0-9])?", "ubuntu-24.04")]
"""The name of an operating system in a release."""
SiteName = Annotated[str, text_form("[a-z][a-z0-9-]{1,38}[a-z0-9]", "tokyo-1")]
"""A site's name: also its file's, its Pulumi stack's, its Cluster's and its namespace's."""
DnsLabel = Annotated[str, Field(pattern=DNS_LABEL_PATTERN, examples=["v100"])]
"""A DNS label (RFC 1123): at most 63 lower-case letters, digits and dashes."""
PoolName = Annotated[str, text_form("[a-z]([-a-z0-9]{0,28}[a-z0-9])?", "v100")]
"""A pool's name: a DNS label of at most 30 characters, as a zone and a hash are added to it."""
ZoneName = Annotated[str, text_form("[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?", "a")]
"""A network zone's name: a DNS label of at most 15 characters."""
ContextName = Annotated[str, text_form("[A-Za-z0-9][A-Za-z0-9._@:/-]{0,126}", "mgmt-jp-east")]
"""The name of a context in a kubeconfig."""
Ipv4 = Annotated[str, Field(pattern=IPV4_PATTERN, examples=["10.16.0.10"])]
"""An IPv4 address in dotted form, without leading zeros."""
Network = Annotated[
    str, text_form(rf"{IPV4}/(3[0-2]|[12]?[0-9])", "10.16.0.0/22"), AfterValidator(_canonical)
]
"""An IPv4 network in CIDR notation, with no bit set behind its prefix."""
KubernetesVersion = Annotated[
    str, text_form(r"v1\.(0|[1-9][0-9]{0,2})\.(0|[1-9][0-9]{0,2})", "v1.34.3")
]
"""A Kubernetes release with its ``v``, as Cluster API spells it."""
RelativePath = Annotated[
    str, text_form(f"{_FILE_NAME}(/{_FILE_NAME})*", "pod-network/flannel.yaml", longest=200)
]
"""A file below ``sites/``; a path cannot lead out of it."""
LabelKey = Annotated[
    str,
    text_form(f"({SUBDOMAIN}/)?{QUALIFIED}", "example.com/team", longest=317),
    AfterValidator(_short_prefix),
]
"""The key of a Kubernetes label or taint: a qualified name (k8s.io/apimachinery 0.34.3,
pkg/api/validate/content/kube.go, IsLabelKey)."""
LabelValue = Annotated[str, text_form("([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?", "vision")]
"""The value of a Kubernetes label or taint."""
HostFolder = Annotated[
    str, text_form("(/|(/[A-Za-z0-9_:@+-][A-Za-z0-9_.:@+-]*)+)", "/", longest=256)
]
"""A folder of a host, or its root."""
SecretName = Annotated[str, text_form(SUBDOMAIN, "bmc", longest=122)]
"""The name of a Secret."""
Percent = Annotated[int, Field(ge=1, le=99, examples=[10])]
"""A share in per cent, as a whole number."""
Sha256 = Annotated[str, text_form("[0-9a-f]{64}")]
"""The SHA-256 of a file in lower-case hexadecimal."""
ImageName = Annotated[str, text_form(_IMAGE, _AN_IMAGE, longest=255)]
"""A container image without its tag."""
ImageReference = Annotated[
    str, text_form(f"{_IMAGE}:{TAG}@{DIGEST}", f"{_AN_IMAGE}:v1.2.3@sha256:…", longest=512)
]
"""A container image with its tag, for people, and its digest, for machines."""
AbsolutePath = Annotated[
    str, text_form(r"(/\.?[A-Za-z0-9_:@+-][A-Za-z0-9_.:@+-]*)+", "/dev/mncore0", longest=256)
]
"""A path on a host, without parts that lead elsewhere."""
Command = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=512)]], Field(min_length=1, max_length=32)
]
"""A program and its arguments."""
DomainName = Annotated[
    str, text_form(rf"{_LABEL}(\.{_LABEL})+", "accelerators.example.com", longest=189)
]
"""A DNS name of two labels or more."""
ResourceName = Annotated[str, text_form(f"{SUBDOMAIN}/{QUALIFIED}", "nvidia.com/gpu", longest=253)]
"""The name of an extended resource: a domain, a slash and a name. A quota writes ``requests.``
before it, and the whole must stay a label key (Kubernetes, IsExtendedResourceName)."""


def version_numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version: (1, 34, 3) of ``v1.34.3``."""
    return tuple(int(each) for each in version.removeprefix("v").split("."))


def minor(version: str) -> int:
    """The minor number of a Kubernetes or Cluster API version: 34 of ``v1.34.3``."""
    return int(version.split(".")[1])
