"""The one patch of a node: its taints as they are to be, its slot and annotations, and why."""

from node_repair.cluster import Json
from node_repair.names import FAULTY, JOB, QUARANTINED, REBOOT, REBOOTS, RESET, TURN, TURNS
from node_repair.state import Node


class Edit:
    """What is to change of a node. Nothing has been done while ``why`` is empty."""

    def __init__(self, node: Node) -> None:
        self.why: list[str] = []
        self._node = node
        self._taints = list(node.taints)
        self._labels: dict[str, str | None] = {}
        self._notes: dict[str, str | None] = {}

    def faulty(self) -> str | None:
        """The fault that its taint names; None without the taint."""
        named = [each.get("value", "") for each in self._taints if each.get("key") == FAULTY]
        return named[-1] if named else None

    def taint(self, key: str, fault: str | None, why: str) -> None:
        """Keep new pods off because of a fault; without one, let them come."""
        self._taints = [each for each in self._taints if each.get("key") != key]
        if fault is not None:
            self._taints.append({"key": key, "value": fault, "effect": "NoSchedule"})
        self.why.append(why)

    def note(self, key: str, value: str, why: str) -> None:
        """Set an annotation."""
        self._notes[key] = value
        self.why.append(why)

    def begin(self, turns: tuple[int, ...], now: int, why: str) -> None:
        """Note the beginning of the slot, after earlier ones within the window."""
        self.note(TURNS, ",".join(map(str, (*turns, now))), why)

    def give_slot(self, fault: str, turns: tuple[int, ...], now: int) -> None:
        """Give a repair slot, without what is left of an earlier one."""
        self._labels[TURN] = fault
        self._notes |= {key: None for key in (REBOOT, JOB) if key in self._node.notes}
        self.begin(turns, now, f"its slot: {fault}")

    def end_slot(self, why: str) -> None:
        """Take the slot back."""
        self._labels |= {TURN: None, RESET: None}
        self.why.append(why)

    def end_reset(self) -> None:
        """Take a label of a reset back that outlived its slot."""
        self._labels[RESET] = None
        self.why.append("nobody resets its accelerators")

    def quarantine(self, fault: str, why: str, now: int) -> None:
        """Keep new pods off until a person removes the taint."""
        self._notes[QUARANTINED] = f"{now} {fault}: {why}"
        if self._node.slot is not None:
            self._labels |= {TURN: None, RESET: None}
        self.taint(QUARANTINED, fault, f"quarantined, {fault}: {why}")

    def forget(self, why: str) -> None:
        """Make the node as new."""
        self._notes |= dict.fromkeys((QUARANTINED, REBOOTS, REBOOT, TURNS, JOB))
        self.why.append(why)

    def body(self) -> Json:
        """The merge patch. It has all taints where one changes, as they are a list; the version
        keeps those that are newer."""
        metadata: Json = {"resourceVersion": self._node.version}
        if self._labels:
            metadata["labels"] = self._labels
        if self._notes:
            metadata["annotations"] = self._notes
        changed = self._taints != list(self._node.taints)
        return {"metadata": metadata} | ({"spec": {"taints": self._taints}} if changed else {})
