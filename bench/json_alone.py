"""The least that a Python program can do: read host lists, make the objects, write them as JSON.

No model, no rule, no schema, no YAML. ``python bench/json_alone.py FOLDER OUT`` takes what
bench/inputs.py has put into FOLDER; it stands alone, so that it imports nothing it does not need.
"""

import csv
import json
import sys
from pathlib import Path
from typing import Any


def main(folder: Path, out: Path) -> None:
    """Write one file a site."""
    for path in sorted(folder.glob("*.json")):
        site = json.loads(path.read_bytes())
        with open(folder / f"{path.stem}.hosts.csv", encoding="utf-8") as lines:
            rows = list(csv.DictReader(lines))
        pools = {pool["name"]: pool for pool in site["pools"]}
        hosts = [host(site["name"], pools[row["pool"]], row) for row in rows]
        addresses = site["addresses"]
        there = {f"{row['name']}-{site['name']}": row["ip"] for row in rows}
        addresses["spec"]["preAllocations"] = there
        items = [*site["objects"], addresses, *hosts]
        (out / path.name).write_text(json.dumps(items), encoding="utf-8")


def host(site: str, pool: dict[str, Any], row: dict[str, str]) -> dict[str, Any]:
    """The object of one line of a host list."""
    labels = {
        **pool["labels"],
        "foresite.dev/rack": row["rack"],
        "foresite.dev/zone": row["zone"],
        "infrastructure.cluster.x-k8s.io/failure-domain": row["zone"],
    }
    own = {"foresite.dev/boot-mac": row["mac"], "foresite.dev/serial": row["serial"]}
    annotations = {**pool["annotations"], **own}
    address = f"{pool['scheme']}://{row['bmc']}{pool['path']}"
    bmc = {**pool["bmc"], "address": address, "credentialsName": f"{row['name']}-bmc"}
    metadata = {"name": row["name"], "namespace": site, "labels": labels}
    return {
        "apiVersion": "metal3.io/v1alpha1",
        "kind": "BareMetalHost",
        "metadata": {**metadata, "annotations": annotations},
        "spec": {**pool["spec"], "bmc": bmc, "bootMACAddress": row["mac"]},
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
