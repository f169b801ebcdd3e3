"""Foresite's verdicts on machines, held against the real controllers of Cluster API.

The three managers run unmodified on the embedded control plane; hosts are played by a fake. The
whole of it runs in a network namespace of its own (namespace.py), because the managers' webhook
server listens on every interface.
"""
