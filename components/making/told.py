"""Alerts, dashboards and rules that are data: a file beside the module with their values.

``alerts.py`` has ``alerts.toml``. There ``<name>`` stands for a value that the module gives, or for
one that all share, as ``<nodes>`` for the series that has each node, or for a piece of the table
``series``. Of a site, ``{@<exporter>}`` selects the exporter's series: ``up{@kubelet}``.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from components.making import promql
from components.making.manifest import Json
from components.making.watch import Alert, Board, Panel, Query, Severity, record
from schemas.facts.site import Site
from schemas.kubernetes.tables import read_table

SHARED = {name.lower(): each for name, each in vars(promql).items() if isinstance(each, str)}
SHARED |= read_table(promql.__file__)["series"]
"""Values that all data may ask for: constants of :mod:`components.making.promql`, such as NODES."""
_JOB = re.compile(r"\{@([a-z0-9-]+)")
_PLACE = re.compile(r"<([a-z][a-z0-9_]*)>")


class Told:
    """The data of a module, which says its ``__file__``. A name that the data does not have, and a
    value that they ask for and do not get, is a KeyError."""

    def __init__(self, module: str, site: Site | None = None) -> None:
        self._module, self._site = module, site

    def at(self, site: Site) -> "Told":
        """The data of a site that is monitored, in which exporters have their jobs."""
        return Told(self._module, site)

    def alert(self, name: str, /, **values: object) -> Alert:
        """An alert: its fields are those of a rule of Prometheus, with its annotations."""
        said = self._filled(self._said[name], values)
        severity = Severity(said.get("severity", Severity.WARNING))
        texts = (said["expr"], said["for"], said["summary"], said["description"])
        return Alert(name, *texts, severity, said.get("labels", {}))

    def say(self, name: str, /, **values: object) -> str:
        """The sentence, or the query, of one name in the table ``words``."""
        return str(self._filled(self._said["words"][name], values))

    def panels(self, name: str, /, **values: object) -> list[Panel]:
        """The panels of one name, from left to right: what is not said is as in Panel."""
        return [_panel(each) for each in self.rows(name, **values)]

    def records(self, name: str, /, **values: object) -> list[Json]:
        """The recording rules of one name; what is neither name nor query is a label."""
        return [record(**each) for each in self.rows(name, **values)]

    def rows(self, name: str, /, **values: object) -> list[Json]:
        """The rows of one name, with values in their places."""
        return [self._filled(each, values) for each in self._said[name]]

    def table(self, name: str, /, **values: object) -> Json:
        """The table of one name, with values in their places."""
        found: Json = self._filled(self._said[name], values)
        return found

    def optional(self, name: str, /, **values: object) -> Json:
        """The table of one name, an empty one where the data does not have it."""
        return self.table(name, **values) if name in self._said else {}

    def board(self, panels: Iterable[Panel]) -> Board:
        """The dashboard with these panels."""
        return Board(**self._said["board"], panels=tuple(panels))

    @property
    def _said(self) -> Json:
        return read_table(self._module)

    def _filled(self, said: Any, values: Mapping[str, object]) -> Any:
        """Data with each value in its place."""
        if isinstance(said, str):
            if "<" in said:
                said = _PLACE.sub(lambda found: self._value(found[1], values), said)
            return _JOB.sub(self._job, said) if self._site else said
        if isinstance(said, Mapping):
            return {self._filled(k, values): self._filled(each, values) for k, each in said.items()}
        if isinstance(said, list):
            return [self._filled(each, values) for each in said]
        return said

    def _value(self, name: str, values: Mapping[str, object]) -> str:
        if name in values:
            return str(values[name])
        series = self._said.get("series", {})
        return str(self._filled(series[name], values) if name in series else SHARED[name])

    def _job(self, found: re.Match[str]) -> str:
        return f'{{job="{promql.job(self._site, found[1])}"' if self._site else found[0]


def _panel(said: Json) -> Panel:
    """The panel of a row; boards are kept by what they are, so it has no lists."""
    found: Json = {key: tuple(e) if isinstance(e, list) else e for key, e in said.items()}
    found["queries"] = tuple(Query(*each) for each in said["queries"])
    found["steps"] = tuple((colour, float(value)) for colour, value in said.get("steps", ()))
    return Panel(**found)
