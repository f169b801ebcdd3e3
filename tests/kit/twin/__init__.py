"""A site on the twin: its hosts as simulated nodes, and real schedulers that bind real pods.

``cluster`` runs it; here are the nodes of a site, pods and gangs, and ways to wait.
"""
