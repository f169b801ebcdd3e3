"""Kinds whose rules are data: the TOML file beside a module, a table for each kind.

``added``, ``gone``, ``replaced``, ``labels`` and each of ``fields`` name a judge, one of the file
or of the module, or are one: ``why`` and ``source`` of a sentence, harmless unless ``known`` is
false (or as the component reads them), or judged as ``by`` says, a function of the module that
takes both before what every judge takes. A list is one judge: the first row whose ``when`` holds,
a function of the module that takes what a judge takes; where that returns values, ``{name}`` in
``why`` is one of them. A row may also name its ``judge``. ``<name>`` in a text is one of the
file's sources, or the module's constant NAME. Kinds, and paths, that share a row stand in one key,
with spaces between.

So a module's functions without an underscore are named by its file, and Python's alone may not use
them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from components.effects import Effects, Field, ObjectChange, SiteChange
from components.effects.applying import Fixed, Kind, not_known
from components.effects.rules import Judge, harmless
from components.making.manifest import Json
from components.making.told import Told

Condition = Callable[[SiteChange, ObjectChange, Field], bool | Mapping[str, Any]]


class Table(NamedTuple):
    """The kinds of a file in their order, and its judges by name."""

    kinds: tuple[Kind, ...]
    judges: Mapping[str, Judge]

    def kind(self, name: str) -> Kind:
        """The kind of a name such as ``Service``. Raises KeyError."""
        return {each.name: each for each in self.kinds}[name]


def _sentence(row: Json) -> Judge:
    usual = harmless if row.get("known", True) else not_known
    return usual(row["why"], row["source"])


def read_kinds(module: Mapping[str, Any], sentence: Callable[[Json], Judge] = _sentence) -> Table:
    """The table of a module, which gives its ``globals()``; ``sentence`` makes a row a judge."""
    told = Told(module["__file__"])
    texts = {name.lower(): each for name, each in module.items() if isinstance(each, str)}
    values = {**told.optional("sources", **texts), **texts}
    known: dict[str, Judge] = {}

    def judge(said: Any) -> Judge:
        if isinstance(said, str):
            found: Judge = known.get(said) or module.get(said) or module[said.upper()]
            return found
        if isinstance(said, list):
            whens = (module[row["when"]] if "when" in row else None for row in said)
            return partial(first_row, [*zip(whens, said, map(judge, said), strict=True)], judge)
        if "judge" in said:
            return judge(said["judge"])
        by = said.get("by")
        return partial(module[by], said["why"], said["source"]) if by else sentence(said)

    for key, row in told.optional("judges", **values).items():
        known[key] = judge(row)
    rows = told.optional("kinds", **values).items()
    kinds = (_kind(name, row, judge) for names, row in rows for name in names.split())
    return Table(tuple(kinds), known)


def first_row(
    rows: Iterable[tuple[Condition | None, Json, Judge]],
    judge: Callable[[Json], Judge],
    site: SiteChange,
    change: ObjectChange,
    field: Field,
) -> Effects:
    """What the first row says whose condition holds; ``judge`` makes one of a row with values."""
    for when, row, usual in rows:
        found = when(site, change, field) if when else True
        if isinstance(found, Mapping) and found:
            usual = judge({**row, "why": row["why"].format(**found)})
        if found:
            return usual(site, change, field)
    return ()


def _kind(name: str, row: Mapping[str, Any], judge: Callable[[Any], Judge]) -> Kind:
    others = {key: judge(row[key]) for key in ("replaced", "labels") if key in row}
    rows = row.get("fields", {}).items()
    # An empty path is the object as a whole.
    fields = tuple((path, judge(each)) for paths, each in rows for path in paths.split() or [""])
    fixed = tuple(each for said in row.get("fixed", ()) for each in _fixed(**said))
    return Kind(name, judge(row["added"]), judge(row["gone"]), fields, fixed, **others)


def _fixed(paths: list[str], **said: Any) -> Iterator[Fixed]:
    yield from (Fixed(path, **said) for path in paths)
