"""Hosts of NetBox (4.2 to 4.7), by its REST API: read only, in pages, with a token that only its
server gets. Sources: NetBox 4.7.3, docs/integrations/rest-api.md; dcim/api/serializers_."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from http.client import HTTPException
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

from foresite.command import UsageError
from foresite.https import ask
from foresite.inventory.records import SOURCES, Intake, Rules, at_path, explain
from schemas.kubernetes.bodies import Json, items

PAGE, MAX_PAGES, MAX_BYTES = 1000, 100, 16 * 1024 * 1024
"""Objects asked for at once (NetBox's MAX_PAGE_SIZE), pages of a question, bytes of an answer."""
SECONDS = 60.0
"""Time for one answer."""
_IDS = 100
"""Devices whose interfaces are asked for at once: URLs have an end."""
_OWN = SOURCES["netbox"]
_MANAGEMENT = "address of the management interface"


class NetBox(NamedTuple):
    """A server, asked for lists. Raises UsageError for all that is no list."""

    base: str
    token: str

    def all(self, path: str, query: Mapping[str, Sequence[object]]) -> Iterator[Json]:
        """Every object of a list. The next page is asked of the same server, whatever it says."""
        url, asked = f"{self.base}/api/{path}/", urlencode({**query, "limit": PAGE}, doseq=True)
        seen: set[str] = set()
        while asked not in seen and len(seen) < MAX_PAGES:
            seen.add(asked)
            answer = self._get(url, asked)
            found = answer.get("results") if isinstance(answer, dict) else None
            if not isinstance(found, list) or not all(
                isinstance(each, dict) and at_path(each, "id") for each in found
            ):
                raise UsageError(f"{url}: the answer is no list of NetBox; is --url right?")
            yield from found
            if not answer.get("next"):
                return
            asked = urlencode(parse_qsl(str(answer["next"]).partition("?")[2]))
        if asked in seen:
            raise UsageError(f"{url}: its pages lead in a circle; what fronts NetBox cuts queries")
        raise UsageError(f"{url}: more than {MAX_PAGES} pages; narrow it down with --query")

    def _get(self, url: str, asked: str) -> Any:
        kind = "Bearer" if self.token.startswith("nbt_") else "Token"
        headers = {"Accept": "application/json", "Authorization": f"{kind} {self.token}"}
        try:
            return ask(f"{url}?{asked}", headers, MAX_BYTES, SECONDS, direct=False)
        except (OSError, HTTPException, ValueError) as error:
            raise UsageError(f"{url}: {explain(error, 'netbox')}") from None


def read(server: NetBox, query: Mapping[str, Sequence[str]], rules: Rules) -> Intake:
    """The devices that a query finds, as hosts. Raises UsageError where it finds none: whoever may
    see none gets an empty list."""
    query = {**_OWN["query"], **query}
    devices = list(server.all("dcim/devices", query))
    if not devices:
        raise UsageError(
            f"{server.base}/api/dcim/devices/?{urlencode(query, doseq=True)}: no devices; has the "
            "site another slug (--query site=SLUG), and may the token see them?"
        )
    interfaces, addresses = defaultdict(list), defaultdict(list)
    for each in _of(server, "dcim/interfaces", devices):
        interfaces[at_path(each, "device.id")].append(each)
    without = [each for each in devices if not at_path(each, "oob_ip.address")]
    for each in _of(server, "ipam/ip-addresses", without):
        addresses[at_path(each, "assigned_object_id")].append(at_path(each, "address"))
    intake = Intake(rules)
    for body in sorted(devices, key=lambda each: (at_path(each, "name"), at_path(each, "id"))):
        own = interfaces[str(body["id"])]
        found = {a: _MANAGEMENT for e in own if e.get("mgmt_only") for a in addresses[str(e["id"])]}
        macs = {f"interface:{at_path(each, 'name')}": _mac(each) for each in own}
        whole = {**body, **macs, _MANAGEMENT: found, "boot interface": _boot(own)}
        place = f"{server.base}/dcim/devices/{body['id']}/"
        intake.add(place, f"netbox device {body['id']}", whole)
    return intake


def _of(server: NetBox, path: str, devices: list[Json]) -> Iterator[Json]:
    """The objects of a list that belong to devices."""
    for at in range(0, len(devices), _IDS):
        yield from server.all(path, {"device_id": [d["id"] for d in devices[at : at + _IDS]]})


def _boot(interfaces: list[Json]) -> dict[str, str]:
    """The MACs of the interfaces that may boot: those with a tag, or all that can."""
    able, tagged = {}, {}
    for each in interfaces:
        virtual = at_path(each, "type.value") in _OWN["boot"]["virtual"]
        if _mac(each) and not each.get("mgmt_only") and not virtual:
            able[_mac(each)] = f"interface {at_path(each, 'name')}"
            if {at_path(tag, "slug") for tag in items(each, "tags")} & {*_OWN["boot"]["tags"]}:
                tagged[_mac(each)] = able[_mac(each)]
    return tagged or able


def _mac(interface: Json) -> str:
    """Its MAC; before 4.2 a field of its own."""
    own = at_path(interface, "primary_mac_address.mac_address")
    return own or at_path(interface, "mac_address")
