"""Hosts of Metal3: BareMetalHosts, and what the inspection found (HardwareData of the same name).
Source: Bare Metal Operator 0.13, apis/metal3.io/v1alpha1."""

from pathlib import Path

from foresite.command import UsageError, few
from foresite.inventory.records import MAX_FILE, Intake, Rules, at_path
from schemas.kubernetes.bodies import Json, items, mapping
from schemas.reading.bounded import parse_json, read_regular

KINDS = {"BareMetalHost": "baremetalhosts", "HardwareData": "hardwaredata"}


def read_objects(path: Path, namespace: str) -> list[Json]:
    """The objects that ``kubectl get -o json`` wrote, of ``namespace`` alone. Raises UsageError."""
    try:
        body = parse_json(read_regular(path, MAX_FILE))
    except ValueError as error:
        raise UsageError(f"{path} is no JSON: {error}") from None
    listed = [*(items(body, "items") if isinstance(body, dict) else ()), body]
    found = [e for e in listed if at_path(e, "kind") in KINDS and at_path(e, "metadata.name")]
    if not found:
        how = f"kubectl get baremetalhosts,hardwaredata -n {namespace} -o json"
        raise UsageError(f"{path}: neither BareMetalHosts nor HardwareData; write it with: {how}")
    spaces = {at_path(each, "metadata.namespace") for each in found}
    if len(spaces) > 1 and namespace not in spaces:
        raise UsageError(f"{path}: hosts of {few(sorted(spaces), 5)}, and none of {namespace}")
    own = {namespace, ""} if namespace in spaces else spaces
    return [each for each in found if at_path(each, "metadata.namespace") in own]


def hardware(objects: list[Json]) -> dict[str, Json]:
    """What the inspection found, by host; hosts that nobody inspected are not in it."""
    found: dict[str, Json] = {}
    for kind, part in zip(KINDS, ("status", "spec"), strict=True):
        for each in objects:
            if each["kind"] == kind and (known := mapping(each, part, "hardware")):
                found[each["metadata"]["name"]] = known
    return found


def read(objects: list[Json], where: str, rules: Rules) -> Intake:
    """The BareMetalHosts as hosts; ``where`` they were read."""
    intake, inspected = Intake(rules), hardware(objects)
    for body in (each for each in objects if each["kind"] == "BareMetalHost"):
        name = body["metadata"]["name"]
        known = inspected.get(name, {})
        nics = [each for each in items(known, "nics") if each.get("pxe") is True]
        boot = {at_path(each, "mac"): f"NIC {at_path(each, 'name')}" for each in nics}
        whole = {**body, "hardware": known, "NIC that boots by PXE": boot}
        intake.add(f"{where} BareMetalHost {name}", f"BareMetalHost {name}", whole)
    return intake
