"""Components of one's own that are installed, named by their packages' entry points, and their
sections of the site file. One that cannot be used fails no site that does not name it."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin
from urllib.parse import urlsplit
from urllib.request import url2pathname

from pydantic import JsonValue, ValidationError, create_model, field_validator

from schemas.model.component_contract import CONTRACT, Component, Settings
from schemas.model.extra import OwnersRule
from schemas.model.primitives import DNS_LABEL_PATTERN, Model, field_docs

GROUP = "foresite.components"
BUILT_IN = {
    "machines", "pod-network", "etcd-snapshots", "accelerators", "network-devices", "teams",
    "schedulers", "training", "object-cache", "remediation", "monitoring", "secrets",
    "admission-policies", "extra", "management",
}  # fmt: skip
"""Names of Foresite's own components."""
_PLAIN = (str, int, float, bool, type(None), Any, JsonValue)
_UNIONS = (Union, UnionType)


class Installed(NamedTuple):
    """A component of an installed package; the obstacle that keeps it from being used is its
    ``fault``, and what to do about that is ``fix``."""

    package: str
    component: Component | None = None
    fault: str = ""
    fix: str = ""


def find_installed() -> dict[str, Installed]:
    """The components of the packages on the path, by name."""
    found: dict[str, Installed] = {}
    try:
        points = sorted(entry_points(group=GROUP), key=lambda each: each.name)
    except Exception as error:  # noqa: BLE001  whatever a package's entry_points.txt holds
        fault = f"entry points of a package cannot be read: {describe(error)}"
        return {"?": Installed("?", None, fault, "correct its entry_points.txt, or remove it")}
    for point in points:
        name, package = point.name, _package(point)
        if name in found:
            both = f"{found[name].package} and {package}"
            found[name] = Installed(both, None, "two packages bring it", "remove one of the two")
        else:
            found[name] = _load(point, package)
    return found


def _package(point: EntryPoint) -> str:
    """The name and version of a package, which one without METADATA that can be read lacks."""
    nameless, found = "a package without METADATA", point.dist
    try:
        named = found is not None and None not in (found.name, found.version)
        return f"{found.name} {found.version}" if found and named else nameless
    except Exception:  # noqa: BLE001  whatever a package's METADATA holds
        return nameless


def _load(point: EntryPoint, package: str) -> Installed:
    """The component that an entry point names. Whatever its package raises is its fault."""
    try:
        with redirect_stdout(sys.stderr):  # stdout is what a command answers
            made = point.load()
        fault = _outdated(point) or next(_faults(point.name, made), None)
        if not fault:
            # What site files, their schema and ``explain`` need of it.
            field_docs(made.settings)
            made.settings.model_json_schema()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  whatever the package does
        fault = ("loading it fails: " + describe(error), f"correct {point.value}, or its package")
    return Installed(package, None, *fault) if fault else Installed(package, made)


def _outdated(point: EntryPoint) -> tuple[str, str] | None:
    """The fault of a copy of a folder whose files differ by now. uv makes another copy where the
    package's pyproject.toml changes, and not where its code does (uv 0.13.9, cache-keys)."""
    package = point.dist
    said = json.loads((package and package.read_text("direct_url.json")) or "{}")
    if package is None or said.get("dir_info", {}).get("editable", True):
        return None
    folder = Path(url2pathname(urlsplit(said["url"]).path))
    for file in package.files or ():
        there = [each for each in (folder / file, folder / "src" / file) if each.is_file()]
        copy = Path(str(package.locate_file(file)))
        if there and file.suffix != ".pyc" and there[0].read_bytes() != copy.read_bytes():
            fix = "write editable = true at its source in pyproject.toml, then uv lock and uv sync"
            return f"{folder} has another {file} than what was installed from it", fix
    return None


def _faults(name: str, found: object) -> Iterator[tuple[str, str]]:
    """The faults of what an entry point names, each with what to do."""
    if not re.fullmatch(DNS_LABEL_PATTERN, name) or hasattr(Model, name):
        yield "its name cannot be a field", "give the entry point a name such as load-balancer"
    if name in BUILT_IN:
        yield "Foresite's own component has its name", "give the entry point another name"
    if not isinstance(found, Component):
        yield f"it is {type(found).__name__}, no Component", "name a foresite.own.Component"
        return
    made: Any = found  # its fields hold whatever the package gave them
    if made.contract != CONTRACT:
        older = isinstance(made.contract, int) and made.contract < CONTRACT
        message = f"it is written for contract {made.contract!r}, this Foresite has {CONTRACT}"
        yield message, f"install a newer {'package' if older else 'Foresite, or an older package'}"
    if made.name != name:
        yield f"it calls itself {made.name}", "give it the name of its entry point"
    if not (isinstance(made.settings, type) and issubclass(made.settings, Settings)):
        yield "its settings are no foresite.own.Settings", "derive them from that type"
    elif misfit := next(_misfits(made.settings), ""):
        fix = "take str, int, float, bool, Literal, list, dict, foresite.own.Model, and None"
        yield f"its settings have {misfit}, which site files cannot have", fix
    texts = isinstance(made.what, str) and made.cluster in ("site", "management")
    if not callable(made.objects) or not texts:
        yield "objects, what or cluster is of another type", "compare it with foresite.own"
    if not all(isinstance(each, OwnersRule) for each in made.effects):
        yield "its effects are not all OwnersRule", "write foresite.own.OwnersRule(...)"


def _misfits(kind: Any, above: tuple[Any, ...] = ()) -> Iterator[str]:
    """What a type of settings has and YAML has not; all readers of settings take plain data."""
    if isinstance(kind, type) and issubclass(kind, Model):
        for name, info in kind.model_fields.items():
            if info.alias or info.validation_alias:
                yield f"{name} under another name"
            if kind in above:
                yield f"{kind.__name__} within itself"
                return
            yield from (f"{each} ({name})" for each in _misfits(info.annotation, (*above, kind)))
    elif get_origin(kind) is Annotated:
        yield from _misfits(get_args(kind)[0], above)
    elif get_origin(kind) in (list, dict, *_UNIONS):
        yield from (found for each in get_args(kind) for found in _misfits(each, above))
    elif get_origin(kind) is not Literal and kind not in _PLAIN:
        yield f"a {getattr(kind, '__name__', kind)}"


def _guarded(value: Any, read: Callable[[Any], Any]) -> Any:
    """Settings as their type reads them; whatever its validators raise is a fault of the value."""
    try:
        with redirect_stdout(sys.stderr):
            return read(value)
    except ValidationError:
        raise
    except Exception as error:  # noqa: BLE001  whatever the package does
        raise ValueError(describe(error)) from None


def describe(error: BaseException) -> str:
    """An error of somebody's code in one line."""
    try:
        return " ".join(f"{type(error).__name__}: {error}".split())[:300]
    except Exception:  # noqa: BLE001  whatever the code does
        return type(error).__name__


INSTALLED = find_installed()
"""The components of installed packages, by name."""


def _sections() -> type[Model]:
    usable = {name: each.component for name, each in INSTALLED.items() if each.component}
    fields: dict[str, Any] = {name: (each.settings | None, None) for name, each in usable.items()}
    text = "Sections of the components of one's own that are installed."
    guard: Any = field_validator("*", mode="wrap", check_fields=False)(_guarded)
    made: type[Model] = create_model(
        "Components", __base__=Model, __doc__=text, __validators__={"guard": guard}, **fields
    )
    made.made_of = {name: each.what for name, each in usable.items()}
    return made


Components = _sections()
"""The sections; without packages of one's own there are none."""


def missing(name: str) -> tuple[str, str]:
    """Why a site cannot have the component ``name``, and what to do."""
    known = INSTALLED.get(name)
    if known:
        return f"the component {name} ({known.package}) cannot be used: {known.fault}", known.fix
    fix = "run `uv add PACKAGE` (or `pip install PACKAGE`) where Foresite runs, or remove it"
    return f"no installed package has a component {name}", fix


def versions() -> list[str]:
    """A line on each installed component, for a person."""
    return [
        f"component {name}: {each.package}"
        + (f", cannot be used: {each.fault}" if each.fault else "")
        for name, each in INSTALLED.items()
    ]
