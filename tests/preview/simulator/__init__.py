"""A small model of what Cluster API and Metal3 do to hosts, to judge the preview by.

Written from the upstream sources alone, by someone who has not read the rules it judges: Cluster
API v1.13.5, Cluster API Provider Metal3 v1.13.2 and the Bare Metal Operator v0.13.2. It knows
nothing of the preview: what goes in are Kubernetes objects, what comes out is what hosts get.
"""
