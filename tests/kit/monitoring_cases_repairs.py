"""Cases of the alerts on faults and their repairs."""

from components.making.faults import FAULTY_TAINT, QUARANTINED_TAINT
from components.remediation.names import TURNS
from tests.kit.monitoring_promtool import Case, Steps, World
from tests.kit.monitoring_worlds import (
    LAB,
    LABS,
    NODE,
    NODES,
    TOKYO,
    condition,
    k,
    nodes,
    s,
    taint,
    without,
)

FAULTS = (
    "AcceleratorMissing",
    "AcceleratorError",
    "PCIeLinkDegraded",
    "DiskFull",
    "ReadonlyFilesystem",
    "KernelDeadlock",
)
OPERATING = "nodeops.k8s.preferred.jp/operating"
CHECKED: World = {
    **TOKYO,
    **{key: value for name in FAULTS for key, value in condition(NODE, name, "false").items()},
}
MISSING = condition(NODE, "AcceleratorMissing", "true")
BOARDS = "tsukuba-1-a-013"
SWITCHED = ["tokyo-1-a-090", "tokyo-1-a-091"]
"""Of the pool h100."""
LINKED: World = {**nodes(SWITCHED), **condition(SWITCHED[1], "FabricDown", "true")}
UNBOARDED = "tsukuba-1-a-004"
"""Of the pool cpu, which board-too-hot is not looked for in."""
EDGE = ["edge-1-a-2", "edge-1-a-3", "edge-1-a-4", "edge-1-b-2"]
EDGES: World = {
    **nodes(EDGE),
    **condition(EDGE[0], "KernelDeadlock", "true"),
    **condition(EDGE[1], "KernelDeadlock", "true"),
    **condition(EDGE[3], "DiskFull", "true"),
}
DEPLOYED: World = {
    **TOKYO,
    **{
        k(
            "kube_deployment_status_replicas_available",
            namespace="node-remediation",
            deployment=name,
        ): count
        for name, count in {"turns": 1, "node-operation-controller": 2}.items()
    },
}


def repairs(host: str, device: str) -> str:
    """What the program of repair slots says of a host or a device."""
    labels = {"job": TURNS, "instance": "10.64.0.8:8080"}
    return s("node_repair_history", **labels, host=host, serial="SN1", device=device)


FLAPS = {
    key: Steps([(since, value if since % 12 == 0 else 1 - value) for since in range(0, 60, 6)])
    for key, value in condition(SWITCHED[0], "NetworkLinkErrors", "true").items()
    if 'unknown"' not in key and isinstance(value, float)
}
"""A condition that is True for six minutes in twelve."""
IN_USE = s("node_repair_bad_devices_in_use", job="device-taints", host=NODES[1])
BY_CARD: World = {
    **TOKYO,
    k(
        "kube_deployment_status_replicas_available",
        namespace="node-remediation",
        deployment="device-taints",
    ): 1,
}

CASES = (
    Case(
        "NodeFaultUnmended",
        "tokyo-1",
        {**CHECKED, **MISSING},
        condition(NODE, "DiskFull", "true"),
        {"node": NODE, "pool": "v100", "fault": "disk-full"},
        f"{NODE} has disk-full, which no remediator repairs",
    ),
    # One rise of errors ends before the alert would be told.
    Case(
        "NodeFaultUnmended",
        "tokyo-1",
        {**nodes(SWITCHED), **condition(SWITCHED[0], "NetworkLinkErrors", "false")},
        FLAPS,
        {"node": SWITCHED[0], "pool": "h100", "fault": "network-link-errors"},
        f"{SWITCHED[0]} has network-link-errors, which no remediator repairs",
        back=20,
    ),
    # A fabric that lacks a card that is repaired is nobody's to mend, nor that of a host that
    # reboots.
    Case(
        "NodeFaultUnmended",
        "tokyo-1",
        {
            **LINKED,
            taint(SWITCHED[1], OPERATING): 1,
            **condition(SWITCHED[0], "FabricDown", "true"),
            **condition(SWITCHED[0], "AcceleratorMissing", "true"),
        },
        condition(SWITCHED[0], "AcceleratorMissing", "false"),
        {"node": SWITCHED[0], "pool": "h100", "fault": "fabric-down"},
        f"{SWITCHED[0]} has fabric-down, which no remediator repairs",
    ),
    # What is left of a check that was taken from a pool is no fault, and no report.
    Case(
        "SiteCheckFails",
        "tsukuba-1",
        {**nodes([BOARDS, UNBOARDED]), **condition(UNBOARDED, "BoardTooHot", "true")},
        condition(BOARDS, "BoardTooHot", "true"),
        {"node": BOARDS, "pool": "mncore2", "fault": "board-too-hot"},
        f"{BOARDS}: a board is hotter than 95 degrees Celsius",
    ),
    # A card with too few lanes is taken out by itself there.
    Case(
        "NodeFaultUnmended",
        "tokyo-1 by card",
        {**CHECKED, **condition(NODE, "PCIeLinkDegraded", "true")},
        condition(NODE, "DiskFull", "true"),
        {"node": NODE, "pool": "v100", "fault": "disk-full"},
        f"{NODE} has disk-full, which no remediator repairs",
    ),
    Case(
        "FaultStorm",
        "tokyo-1",
        # Full disks are nobody's to mend, so they keep no repair back.
        {
            **CHECKED,
            **MISSING,
            **condition(NODES[1], "AcceleratorMissing", "true"),
            **condition(NODES[2], "AcceleratorMissing", "false"),
            **condition(NODES[3], "DiskFull", "true"),
            **condition(NODES[4], "DiskFull", "true"),
        },
        condition(NODES[2], "AcceleratorMissing", "true"),
        {"pool": "v100"},
        "60 % of the nodes of pool v100 have a fault",
        "critical",
    ),
    Case(
        "FaultStorm",
        "edge-1",
        {**EDGES, **condition(EDGE[2], "KernelDeadlock", "false")},
        condition(EDGE[2], "KernelDeadlock", "true"),
        {"pool": "gpu"},
        "75 % of the nodes of pool gpu have a fault",
        "critical",
    ),
    # Those that repairs did not help count.
    Case(
        "FaultStorm",
        "tokyo-1",
        {**CHECKED, **MISSING, taint(NODES[1], QUARANTINED_TAINT, "x"): 1},
        {taint(NODES[2], QUARANTINED_TAINT, "x"): 1},
        {"pool": "v100"},
        "60 % of the nodes of pool v100 have a fault",
        "critical",
        late=7,
        back=15,
    ),
    Case(
        "DetectorSilent",
        "lab-1",
        {
            **LABS,
            **{
                key: value
                for node in LAB
                for name in FAULTS
                if name != "PCIeLinkDegraded"
                for key, value in condition(node, name, "false").items()
            },
        },
        condition(LAB[0], "DiskFull", "unknown"),
        {"node": LAB[0], "pool": "lab", "model": "t4-pcie-16gb"},
        f"{LAB[0]}: 1 of its fault conditions are not reported",
        late=6,
    ),
    Case(
        "DetectorSilent",
        "tsukuba-1",
        {
            **nodes([UNBOARDED]),
            **{
                key: value
                for name in ("BoardTooHot", *FAULTS[3:])
                for key, value in condition(UNBOARDED, name, "false").items()
            },
        },
        condition(UNBOARDED, "DiskFull", "unknown"),
        {"node": UNBOARDED, "pool": "cpu"},
        f"{UNBOARDED}: 1 of its fault conditions are not reported",
        late=6,
    ),
    Case(
        "NodeFaultPersists",
        "tokyo-1",
        CHECKED,
        MISSING,
        {"node": NODE, "pool": "v100", "fault": "accelerator-missing"},
        f"{NODE} still has accelerator-missing",
    ),
    Case(
        "NodeQuarantined",
        "tokyo-1",
        {**CHECKED, **MISSING, taint(NODE, FAULTY_TAINT, "x"): 1},
        {taint(NODE, QUARANTINED_TAINT, "accelerator-missing"): 1},
        {"node": NODE, "pool": "v100"},
        f"{NODE} is out: repairs did not help",
    ),
    Case(
        "NodeRepairSlow",
        "tokyo-1",
        {**CHECKED, **MISSING},
        {taint(NODE, OPERATING): 1},
        {"node": NODE, "pool": "v100"},
        f"The repair of {NODE} takes more than 90 minutes",
    ),
    Case(
        "FaultyNodeTakesPods",
        "tokyo-1",
        {**CHECKED, taint(NODE, FAULTY_TAINT, "accelerator-missing"): 1, **MISSING},
        {taint(NODE, FAULTY_TAINT, "accelerator-missing"): None},
        {"node": NODE, "pool": "v100", "fault": "accelerator-missing"},
        f"{NODE} has accelerator-missing and still takes pods",
        late=6,
    ),
    Case(
        "HealerDown",
        "tokyo-1",
        DEPLOYED,
        without(DEPLOYED, "turns"),
        {"deployment": "turns"},
        "turns does not run: faults of nodes are not repaired",
        late=6,
    ),
    Case(
        "HealerDown",
        "tokyo-1 by card",
        BY_CARD,
        dict.fromkeys(without(BY_CARD, "device-taints"), 0),
        {"deployment": "device-taints"},
        "device-taints does not run: devices with a fault stay in use",
        late=6,
    ),
    Case(
        "HostRepairedOften",
        "tokyo-1",
        {**CHECKED, repairs("one", ""): 2, repairs("one", "0000:3b:00"): 3},
        {repairs("one", ""): 3},
        {"host": "one", "serial": "SN1"},
        "one was repaired 3 times in 90 days",
    ),
    Case(
        "DeviceRepairedOften",
        "tokyo-1",
        {**CHECKED, repairs("one", "0000:3b:00"): 2, repairs("one", ""): 3},
        {repairs("one", "0000:3b:00"): 4},
        {"host": "one", "serial": "SN1", "device": "0000:3b:00"},
        "0000:3b:00 of one was repaired 4 times in 90 days",
    ),
    Case(
        "BadDevicesInUse",
        "tokyo-1 by card",
        {**BY_CARD, taint(NODE, FAULTY_TAINT, "x"): 1},
        {IN_USE: 3},
        {"host": NODES[1], "node": NODES[1]},
        f"3 bad devices of {NODES[1]} stay in use",
    ),
)
