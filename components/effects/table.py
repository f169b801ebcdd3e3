"""Kinds whose rules are data: the TOML file beside a module, a table for each kind."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from components.effects.applying import Fixed, Kind, not_known
from components.effects.rules import Judge, harmless
from components.making.told import Told


class Table(NamedTuple):
    """The kinds of a file in their order, and its judges by name."""

    kinds: tuple[Kind, ...]
    judges: Mapping[str, Judge]

    def kind(self, name: str) -> Kind:
        """The kind of a name such as ``Service``. Raises KeyError."""
        return {each.name: each for each in self.kinds}[name]


def read_table(module: Mapping[str, Any]) -> Table:
    """The table of a module, which gives its ``globals()``.

    ``added``, ``gone``, ``replaced``, ``labels`` and each of ``fields`` name a judge, one of the
    file or of the module, or are one: ``why`` and ``source`` of a sentence, harmless unless
    ``known`` is false, or judged as ``by`` says, a function of the module that takes both before
    what every judge takes. ``<name>`` in a text is one of the file's sources, or the module's
    constant NAME.
    """
    told = Told(module["__file__"])
    texts = {name.lower(): each for name, each in module.items() if isinstance(each, str)}
    values = {**told.optional("sources", **texts), **texts}
    known: dict[str, Judge] = {}

    def judge(said: Any) -> Judge:
        if isinstance(said, str):
            found: Judge = known.get(said) or module.get(said) or module[said.upper()]
            return found
        usual = harmless if said.get("known", True) else not_known
        words = said["why"], said["source"]
        return partial(module[said["by"]], *words) if "by" in said else usual(*words)

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
