"""Answers of the real NetBox, recorded and served again by paging: a fake, held to NetBox's schema.

``python -m tests.kit.netbox_recording`` writes netbox_recording.json: of each object the fields
that Foresite reads, and of the OpenAPI schema the types of these fields.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.kit.netbox_server import ask, fill, running
from tests.kit.web import Handler, listening

FILE = Path(__file__).with_suffix(".json")
READ = {
    "dcim/devices": ["Device", "id", "name", "serial", "role.slug", "location.slug", "rack.name",
                     "oob_ip.address", "primary_ip4.address", "status.value", "custom_fields"],
    "dcim/interfaces": ["Interface", "id", "name", "device.id", "mgmt_only", "type.value", "tags",
                        "primary_mac_address.mac_address", "mac_address"],
    "ipam/ip-addresses": ["IPAddress", "id", "address", "assigned_object_id"],
}  # fmt: skip
"""What Foresite reads: the schema's name of a list's objects, and their fields."""
Row = dict[str, Any]


def row(number: int, **more: Any) -> Row:
    """A host of lab-1 as NetBox has it."""
    return {
        "name": f"lab-1-lab-{number:03}", "serial": f"EXLAB{number:03}", "rack": "lab-01",
        "macs": {"eno1": f"52:54:00:03:00:{number:02X}"}, "mgmt": f"10.26.0.{10 + number}/24",
        "ip": f"10.18.0.{10 + number}/24", **more,
    }  # fmt: skip


def rows() -> list[Row]:
    """Hosts with all that may be wrong; the first three are in the list of the fleet's lab-1, as
    far as they are said here."""
    two = {"eno1": "52:54:00:03:00:06", "ens2": "52:54:00:03:01:06"}
    tagged = {"eno1": "52:54:00:03:00:07", "ens2": "52:54:00:03:01:07"}
    return [
        row(1, serial="EX6610C126"),
        row(2, serial="EX8A383D11", rack="lab-02", macs={"eno1": "52:54:00:03:0F:02"}),
        row(4, oob=False),
        row(5, name="LAB-1-LAB-005"),
        row(6, macs=two),
        row(7, macs=tagged, boot="ens2", ip="10.18.0.17/25"),
        row(8, name=None, mgmt=None, ip=None),
        row(9, status="decommissioning"),
    ]


@contextmanager
def serving(page: int, lists: Row, answers: Row | None = None) -> Iterator[tuple[str, list[str]]]:
    """A server of lists by path, ``page`` objects at once; its URL, and what it was asked.
    ``answers`` are given first: a status and a body by path."""
    asked: list[str] = []

    owners = {each["id"]: each["device"]["id"] for each in lists["dcim/interfaces"]}

    def is_wanted(item: Row, path: str, query: dict[str, list[str]]) -> bool:
        if path == "dcim/devices":
            return item["status"]["value"] in query["status"]
        device = item["device"]["id"] if "device" in item else owners[item["assigned_object_id"]]
        return str(device) in query["device_id"]

    class Answers(Handler):
        def do_GET(self) -> None:
            asked.append(f"{self.path} {self.headers['Authorization']}")
            status, body = (answers or {}).get(urlsplit(self.path).path) or (200, self.true())
            self.answer(status, body, {"Location": "http://elsewhere.example/login"})

        def true(self) -> Row:
            parts = urlsplit(self.path)
            query = parse_qs(parts.query)
            path = parts.path.removeprefix("/api/").rstrip("/")
            found = [e for e in lists[path] if is_wanted(e, path, query)]
            at = int(query.pop("offset", ["0"])[0])
            more = urlencode({**query, "offset": at + page}, doseq=True)
            next_ = f"http://another.example/api/{path}/?{more}" if at + page < len(found) else None
            return {"count": len(found), "next": next_, "results": found[at : at + page]}

    with listening(Answers) as url:
        yield url, asked


def cut(item: Any, fields: list[str]) -> Row:
    """An object with some of its fields."""
    found: Row = {}
    for field in fields:
        name, _, rest = field.partition(".")
        if rest and item[name] is not None:
            found.setdefault(name, {}).update(cut(item[name], [rest]))
        else:
            found[name] = item[name]
    return found


def kind(schemas: Row, node: Row, field: str) -> str:
    """The type of a field by the schema, with a ``?`` where it may be null."""
    null = "?" if node.get("nullable") else ""
    ref = node.get("$ref") or node.get("allOf", [{}])[0].get("$ref")
    node = schemas[ref.rpartition("/")[2]] if ref else node
    name, _, rest = field.partition(".")
    return (kind(schemas, node["properties"][name], rest) if name else node["type"]) + null


def record() -> None:
    """Ask the real NetBox, and write what it says."""
    with running() as url:
        fill(url, rows())
        schema = ask(url, "GET", "schema/?format=json")
        said: Row = {"version": schema["info"]["version"], "types": {}, "lists": {}}
        parts = schema["components"]["schemas"]
        for path, (name, *fields) in READ.items():
            node = {"$ref": f"/{name}"}
            said["types"][path] = {each: kind(parts, node, each) for each in fields}
            found = ask(url, "GET", f"{path}/?limit=1000")["results"]
            said["lists"][path] = [cut(each, fields) for each in found]
    FILE.write_text(json.dumps(said, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    record()
