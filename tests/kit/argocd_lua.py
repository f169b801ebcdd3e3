"""Rules of health as Argo CD runs them: Lua 5.1 with the base and table libraries, and of os only
time and date (argo-cd v3.2.12, util/lua/lua.go, runLuaWithResourceActionParameters)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from components.making.manifest import Json

_PREPARE = """
local time, date, load = os.time, os.date, loadstring
string, io, os, debug, math, coroutine, python, dofile, loadfile = nil
package.loaded.os = {time = time, date = date}
return function(script, value) obj = value return load(script)() end
"""


def health(script: str, body: Json) -> tuple[str, str]:
    """The status and the message that a rule gives an object; an error of the rule is one here."""
    lua = pytest.importorskip("lupa.lua51").LuaRuntime(unpack_returned_tuples=True)
    run = lua.execute(_PREPARE)

    def table(value: Any) -> Any:
        if isinstance(value, dict):
            return lua.table_from({key: table(each) for key, each in value.items()})
        return lua.table_from(map(table, value)) if isinstance(value, list) else value

    found = dict(run(script, table(body)))
    assert found.keys() == {"status", "message"}
    assert found["status"] in {"Healthy", "Progressing", "Suspended", "Degraded"}
    return found["status"], found["message"]


def ago(minutes: float) -> str:
    """A time as Kubernetes writes it."""
    return (datetime.now(UTC) - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")
