"""Repair the host of one node: have its accelerators reset where its detector says that this helps,
else reboot it by its BareMetalHost, once, and wait until the node is back.

It runs as the Job of a NodeOperation, after the node was drained. Each step is noted before the
next one, so that a pod that is started again goes on: the reboot is counted on the node first, and
requested with a mark on the BareMetalHost in the same patch.

Whatever comes of it, the exit code is 0: a Job that fails lets Node Operation Controller take its
taint away. Only where its pod is ended in the middle it is 1, so that another pod goes on. The
outcome stands in the node's annotation ``reboot``: resetting, reset (the fault is gone), asked,
done (another boot, and ready), late, refused-attempts, refused-foreign-host (not of this site, or
no host of Metal3), refused-no-host, refused-other-machine (the host serves another machine),
refused-no-answer (of the management cluster).
"""

import time
from contextlib import suppress

from node_repair import history
from node_repair.cluster import ClusterError
from node_repair.job import ASKED, HARD, Ended, Host, Over, RepairJob, named
from node_repair.names import HISTORY, REBOOT, REBOOTS, RESETTING
from node_repair.notes import SKEW, times
from node_repair.state import Node, part, text

BY_RESET = ": reset"
"""How the message of a condition ends whose fault a reset repairs."""


class Reboot(RepairJob):
    """The repair of one host."""

    def run(self) -> int:
        """Do it, and return the exit code."""
        try:
            with suppress(Over):
                self._run()
        except Ended:
            return self._stop()
        return 0

    def _run(self) -> None:
        node = self._node()
        fault = node.slot or ""
        device = node.device(self.conditions.get(fault, ""))
        self._before, self._broken = node.boot, (fault, device)
        parts = self._noted.split(",")
        state = parts[-1] if parts[0] == self.operation else ""
        if state not in ("", RESETTING, "asked"):
            self._log("was done before")
            return
        counted = state == "asked"
        if state:
            self._log("goes on")
            self._before = parts[1]
            when = times(parts[-2], self._asked - SKEW, self._asked)
            self._asked = when[0] if when else self._asked
        if not counted:
            if self.reset:
                self._reset(*self.reset)
            node = self._uncordoned()
        if node.boot == self._before:
            host = self._find_host(node)
            if not counted:
                self._count(node)
            self._ask(host)
        self._wait()

    def _uncordoned(self) -> Node:
        """The node once it is not cordoned. One that is loses its slot: nothing is left to do."""
        while (node := self._node()).cordoned:
            self._rest()
        return node

    def _reset(self, fault: str, condition: str, seconds: str) -> None:
        """Have the accelerators reset while the detector asks for that; return where a reboot is
        needed. What resets them does so once between two starts, whoever asks."""
        note, remembered = self._note(RESETTING), False
        while time.time() < self._asked + int(seconds):
            self._check()
            node = self._node()
            status = node.conditions.get(condition, "")
            message = node.messages.get(condition, "")
            begun = self._noted == note
            if begun and not remembered and (host := self._own_host()):
                past = self._history(host, history.RESET)
                remembered = self._sent(self.there, self._host_path, host.version, past)
            if begun and status == "False":
                self._finish("reset")
            wanted = status == "True" and message.endswith(BY_RESET) and node.slot == fault
            if node.boot != self._before or not (wanted or (begun and status != "True")):
                break
            if not begun and self._write(node, note):
                self._log("a reset was asked for")
                continue
            self._rest()
        self._asked = int(time.time())

    def _history(self, host: Host, how: str) -> dict[str, str]:
        """The note of the host's repairs with this one."""
        repair = history.Repair(self._asked, how, *self._broken, self.operation)
        past = text(host.notes, HISTORY)
        return {HISTORY: history.add(past, host.serial, repair, int(time.time()))}

    def _judged(self) -> Host:
        """The host; one that is gone, or has been given to another machine, is not rebooted."""
        found = self._host()
        if found is None:
            self._finish("refused-no-host")
        if self._place is None or found.consumer != self._place[1]:
            self._finish("refused-other-machine")
        return found

    def _find_host(self, node: Node) -> Host:
        self._place = named(node.provider, self.site)
        if self._place is None:
            self._finish("refused-foreign-host")
        while True:
            self._check()
            try:
                return self._judged()
            except ClusterError as error:
                self._log(f"the management cluster does not answer: {error}")
            self._rest_before("refused-no-answer")

    def _count(self, node: Node) -> None:
        """Count the reboot on the node, beside those that are counted there when it is written."""
        self._asked = int(time.time())
        note = self._note("asked")
        # A patch that got no answer may be there.
        while self._noted != note:
            self._check()
            counted = times(text(node.notes, REBOOTS), int(time.time()), self.window)
            if len(counted) >= self.attempts:
                self._finish("refused-attempts")
            reboots = ",".join(map(str, (*counted, self._asked)))
            if self._write(node, note, {REBOOTS: reboots}):
                break
            self._rest()
            node = self._uncordoned()
        self._remembered.write_text(self._place[0] if self._place else "", "utf-8")
        self._log("reboot counted")

    def _ask(self, host: Host) -> None:
        """Request the reboot; the mark on the host says that this was done, whatever came of it."""
        while host.notes.get(REBOOT) != self.operation:
            self._check()
            notes = {ASKED: HARD, REBOOT: self.operation, **self._history(host, history.REBOOT)}
            if self._sent(self.there, self._host_path, host.version, notes):
                self._log("the BareMetalHost was asked for a reboot")
                return
            self._rest_before("refused-no-answer")
            try:
                host = self._judged()
            except ClusterError as error:
                self._log(f"the management cluster does not answer: {error}")

    def _wait(self) -> None:
        while True:
            node = self._node()
            if node.boot != self._before and node.ready:
                self._finish("done")
            if time.time() >= self._asked + self.timeout:
                self._cancel()
                self._finish("late")
            self._rest()

    def _stop(self) -> int:
        """The pod is ended. Where the repair is called off, the request is taken back; else, as
        when the pod is evicted, another pod is to go on: a Job whose pod ends well is complete."""
        try:
            if self._read() is not None:
                with self.here() as cluster:
                    job = cluster.get(self.job)
                metadata = part(job, "metadata")
                there = "deletionTimestamp" not in metadata
                if there and text(metadata, "uid") == self.operation:
                    return 1
        except ClusterError:
            return 1
        self._cancel()
        return 0
