"""Which Machines `up` marks, unmarks and deletes; the API server and kubectl are fakes."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from components.machines.names import CONTROL_PLANE_LABEL
from foresite.delivery import leaving
from foresite.delivery.stack.engine import Engine
from schemas.facts.site import Site
from schemas.model.adopted import Adopted

MARK = "cluster.x-k8s.io/delete-machine"


class Fake:
    """A kubectl, and an API server with a Machine for each host: ``m-`` and the host's name."""

    def __init__(self, hosts: list[str], marks: dict[str, str], members: set[str]) -> None:
        self.ran: list[tuple[str, ...]] = []
        self.asked: list[str] = []
        self.context = "mgmt"
        self.lists: dict[str, list[dict[str, Any]]] = {
            "machines": [
                {"metadata": {"name": f"m-{host}", "annotations": {MARK: marks[host]}}}
                for host in marks
            ],
            "metal3machines": [
                {
                    "metadata": {
                        "annotations": {"metal3.io/BareMetalHost": f"n/{host}"},
                        "ownerReferences": [{"kind": "Machine", "name": f"m-{host}"}],
                        "labels": {CONTROL_PLANE_LABEL: ""} if host in members else None,
                    }
                }
                for host in hosts
            ],
        }

    def __enter__(self) -> "Fake":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def get(self, path: str) -> dict[str, Any]:
        self.asked.append(path)
        return {"items": self.lists[path.rpartition("/")[2]]}

    def run(self, *arguments: str) -> SimpleNamespace:
        self.ran.append(arguments[2:])
        return SimpleNamespace(returncode=0, stderr="")


def site(states: dict[str, str]) -> Site:
    names = {"namespace": "metal3", "cluster": "prod", "control_plane": "prod"}
    adopted = Adopted.model_construct(**cast(Any, names))
    file = SimpleNamespace(management="mgmt", decommission=None, adopted=adopted)
    hosts = [SimpleNamespace(name=name, state=state) for name, state in states.items()]
    return cast(Site, SimpleNamespace(name="prod", file=file, hosts=hosts))


def test_the_machines_of_hosts_that_leave_are_chosen_and_no_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = Fake([*"abcd"], {"c": "foresite", "d": "a person's"}, {"b"})
    monkeypatch.setattr(leaving, "kubectl_of", lambda _: fake)
    monkeypatch.setattr(leaving, "ApiServer", lambda *_: fake)
    engine, found = cast(Engine, None), site({"a": "out", "b": "out", "c": "", "d": ""})
    leaving.mark(engine, found)
    leaving.delete(engine, found)
    told = capsys.readouterr()
    kind = "machines.cluster.x-k8s.io"
    where = ("--namespace", "metal3")
    assert fake.ran == [
        (*where, "annotate", kind, "m-c", f"{MARK}-"),
        (*where, "annotate", kind, "m-a", "m-b", f"{MARK}=foresite", "--overwrite"),
        (*where, "delete", kind, "m-a", "--wait=false"),
    ]
    assert all("/namespaces/metal3/" in path for path in fake.asked)
    assert "delete machine m-b" in told.out + told.err
    leaving.mark(engine, site({"a": "", "b": ""}))
    assert len(fake.ran) == 3
