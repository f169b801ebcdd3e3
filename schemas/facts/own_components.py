"""The objects of components of one's own, asked for in processes of their own, without network,
other programs, or files to write. They get a copy of the site and give plain data back: what they
raise, exit or hang in is their fault. It guards against mistakes, and is no sandbox."""

import functools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from schemas.facts.site import Site
from schemas.model.component_contract import Component, HostView, PoolView, Settings, SiteView
from schemas.model.own_components import INSTALLED
from schemas.model.primitives import Model

DEADLINE_S = 30
"""Seconds that a component may take for the objects of one site."""
MAX_OBJECTS, MAX_BYTES = 2000, 4 * 1024 * 1024
"""The most objects of a component at one site, and their bytes."""
_ZONES = {"1": "AAA12", "2": "BBB-14"}
"""Zones whose days are never the same: a component that asks for the day makes other objects."""


class OwnComponentError(ValueError):
    """A component fails; the message says how."""


def named(site: Site) -> Iterator[tuple[Component, Settings]]:
    """The components that a site names, with their settings there."""
    for name, settings in getattr(site.file, "components", ()):
        component = INSTALLED[name].component
        if component is not None and settings is not None:
            yield component, settings


def make(site: Site, name: str, seed: str = "1") -> str:
    """The objects of a component as YAML, made with a seed of hashes. Raises OwnComponentError,
    and AttributeError where a setting is a hole, which is told already."""
    settings = getattr(site.file.components, name)
    if _has_hole(settings):
        raise AttributeError(f"{name} has a hole")
    answer = _ask(name, view_of(site).model_dump_json(), settings.model_dump_json(), seed)
    if "failed" in answer:
        raise OwnComponentError(answer["failed"])
    return answer["text"]


def _has_hole(value: Any) -> bool:
    if isinstance(value, Model):
        given = vars(value)
        return given.keys() != type(value).model_fields.keys() or _has_hole(given)
    items = value.values() if isinstance(value, dict) else value
    return isinstance(value, dict | list) and any(map(_has_hole, items))


def view_of(site: Site) -> SiteView:
    """What components see of a site."""
    cluster = site.file.cluster
    hosts = [
        HostView(name=h.name, pool=h.pool, zone=h.zone, address=h.ip, rack=h.rack)
        for h in site.hosts
    ]
    return SiteView(
        name=site.name,
        region=site.file.region,
        kubernetes=cluster.kubernetes,
        endpoint=cluster.endpoint,
        pods=cluster.pods,
        services=cluster.services,
        zones={zone.name: zone.network for zone in site.file.zones},
        pools=[
            PoolView(
                name=pool.name,
                role=pool.role.value,
                machines=site.replicas(pool),
                model=(model := site.model(pool)),
                resource=site.resource(model) if model else None,
                labels=pool.labels,
                taints=[each.model_dump(mode="json") for each in pool.taints or ()],
            )
            for pool in site.file.pools
        ],
        hosts=hosts,
    )


# Many ask for the objects of one state of a site; what fails or takes too long does so once.
@functools.lru_cache(maxsize=64)
def _ask(name: str, view: str, settings: str, seed: str) -> dict[str, str]:
    """What a component answers: ``text``, or as ``failed`` how it fails."""
    path = os.pathsep.join(str(Path(each).absolute()) for each in sys.path if each)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "schemas.facts.own_process"],
            input=json.dumps({"name": name, "view": view, "settings": settings}),
            # Nothing that another machine, day or folder has otherwise; a day apart is told.
            env={"PYTHONPATH": path, "PYTHONHASHSEED": seed, "TZ": _ZONES[seed], "LANG": "C.UTF-8"},
            cwd="/",
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=False,
            timeout=DEADLINE_S,
        )
        answer: dict[str, str] = json.loads(done.stdout)
        return answer
    except subprocess.TimeoutExpired:
        return {"failed": f"it takes more than {DEADLINE_S} s"}
    except ValueError:
        return {"failed": "it ends the program"}
