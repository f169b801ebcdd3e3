"""Kinds whose rules are data: the TOML file beside a module, a table for each kind."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from components.effects.applying import Fixed, Kind, not_known
from components.effects.rules import Judge, harmless
from components.making.told import Told

Maker = Callable[[str, str], Judge]
"""Makes the judge of a sentence and its source."""


class Table(NamedTuple):
    """The kinds of a file in their order, and its judges by name."""

    kinds: tuple[Kind, ...]
    judges: Mapping[str, Judge]

    def kind(self, name: str) -> Kind:
        """The kind of a name such as ``Service``. Raises KeyError."""
        return {each.name: each for each in self.kinds}[name]


def read_table(
    module: str, judges: Mapping[str, Judge], makers: Mapping[str, Maker] = {}, /, **values: str
) -> Table:
    """The table of a module, which says its ``__file__``.

    ``added``, ``gone``, ``replaced``, ``labels`` and each of ``fields`` name a judge, one of
    ``judges`` or of the file, or are one: ``why`` and ``source`` of a sentence, harmless unless
    ``known`` is false, or made as ``by`` says, one of ``makers``. ``<name>`` in a text is one of
    the file's sources, or of ``values``.
    """
    told = Told(module)
    values = {**told.optional("sources", **values), **values}
    known = dict(judges)

    def judge(said: Any) -> Judge:
        if isinstance(said, str):
            return known[said]
        usual = harmless if said.get("known", True) else not_known
        make = makers[said["by"]] if "by" in said else usual
        return make(said["why"], said["source"])

    known |= {key: judge(row) for key, row in told.optional("judges", **values).items()}
    rows = told.table("kinds", **values).items()
    return Table(tuple(_kind(name, row, judge) for name, row in rows), known)


def _kind(name: str, row: Mapping[str, Any], judge: Callable[[Any], Judge]) -> Kind:
    others = {key: judge(row[key]) for key in ("replaced", "labels") if key in row}
    fields = tuple((path, judge(each)) for path, each in row.get("fields", {}).items())
    fixed = tuple(each for said in row.get("fixed", ()) for each in _fixed(**said))
    return Kind(name, judge(row["added"]), judge(row["gone"]), fields, fixed, **others)


def _fixed(
    paths: list[str], source: str, *, replaces: bool = True, refuses: bool = True
) -> Iterator[Fixed]:
    for path in paths:
        yield Fixed(path, replaces, refuses, source)
