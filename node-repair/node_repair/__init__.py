"""Repairs of a cluster's faulty nodes: who is repaired when, the reboot, and single devices.

``decide`` and ``devices`` decide from what was read, without doing anything; ``slots``, ``devices``
and ``reboot`` read and act. Nothing is kept in memory between two rounds: the state of a repair is
in the cluster's labels, taints and annotations (docs/fault-remediation.md of the repository).
"""
